package measure

// minGMAP is trec_eval's floor of ap under the geometric mean. A topic's value of gm_map is
// the logarithm of its ap, so that the mean over topics is exponentiated once.
const minGMAP = 0.00001
