package config

import (
	"fmt"
	"strings"
)

// near returns the known name that is most like a wrong one, and whether one is like it at all.
func near(wrong string, known []string) (string, bool) {
	best, least := "", 3
	for _, name := range known {
		if d := distance(strings.ToLower(wrong), name); d < least && d < min(len(wrong), len(name)) {
			best, least = name, d
		}
	}
	return best, best != ""
}

// distance counts the letters to change, add or drop, and neighbours to swap, that make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// longestName that is repeated where it is not known.
const longestName = 64

// unknown says that a name is not known, which one may be meant, and which ones there are.
func unknown(what, wrong string, known []string) string {
	if len(wrong) > longestName {
		return fmt.Sprintf("unknown %s of %d characters; known are %s", what, len(wrong), strings.Join(known, ", "))
	}
	text := fmt.Sprintf("unknown %s %q", what, wrong)
	if name, ok := near(wrong, known); ok {
		return text + fmt.Sprintf("; did you mean %q?", name)
	}
	return text + "; known are " + strings.Join(known, ", ")
}
