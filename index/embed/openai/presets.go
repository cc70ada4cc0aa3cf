package openai

import "strings"

// Prefixes are what a model was trained to see before its texts.
type Prefixes struct{ Document, Query string }

// KnownPrefixes returns the prefixes that the makers of a well-known model give in its
// documentation, and whether the model wants any. They are a hint: nothing sets them unasked.
func KnownPrefixes(model string) (Prefixes, bool) {
	m := strings.ToLower(model)
	const sentence = "Represent this sentence for searching relevant passages: "
	for _, k := range []struct {
		part string
		p    Prefixes
	}{
		{"nomic-embed", Prefixes{"search_document: ", "search_query: "}},
		{"e5-mistral", Prefixes{"", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "}},
		{"e5-large-instruct", Prefixes{"", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "}},
		{"e5-", Prefixes{"passage: ", "query: "}},
		{"bge-m3", Prefixes{}},
		{"bge-small-en", Prefixes{"", sentence}},
		{"bge-base-en", Prefixes{"", sentence}},
		{"bge-large-en", Prefixes{"", sentence}},
		{"bge-large", Prefixes{"", sentence}}, // Ollama's name for bge-large-en-v1.5
		{"mxbai-embed", Prefixes{"", sentence}},
		{"snowflake-arctic-embed2", Prefixes{"", "query: "}},
		{"snowflake-arctic-embed", Prefixes{"", sentence}},
		{"qwen3-embedding", Prefixes{"", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "}},
		{"embeddinggemma", Prefixes{"title: none | text: ", "task: search result | query: "}},
	} {
		if strings.Contains(m, k.part) {
			return k.p, k.p != Prefixes{}
		}
	}
	return Prefixes{}, false
}
