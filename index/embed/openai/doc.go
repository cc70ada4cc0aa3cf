// Package openai embeds texts on a server with an OpenAI-compatible /embeddings endpoint:
// Ollama, llama.cpp, vLLM, LM Studio, TEI and hosted services.
//
// It believes nothing: replies are put in order by their index, counted, and every vector is
// checked for its length and for components that are null, NaN, infinite or all zero. A 200
// with an error inside is an error. Retries are bounded and happen in this package only. Keys
// come from the environment and, like credentials in the base URL, appear in no error.
//
// Caveats: token counts are estimates (EstimateTokens) unless the server reports its own, and
// a server whose vectors depend on what else is in the batch gives slightly different vectors
// when the batches differ.
package openai
