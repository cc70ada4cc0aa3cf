package corpus

import "bytes"

// ReportMark stands near the beginning or the end of the reports that assay writes. They often lie
// among the documents they speak of, and a report is none of them: it repeats the golden questions
// and may quote what not everyone may read.
const ReportMark = "assay:report"

// isReport reports whether raw is marked as a report.
func isReport(raw []byte) bool {
	const near = 512
	mark := []byte(ReportMark)
	return bytes.Contains(raw[:min(near, len(raw))], mark) || bytes.Contains(raw[max(0, len(raw)-near):], mark)
}
