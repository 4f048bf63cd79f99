package folder

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/sync/money"
)

// defaultQuiet is how long a file must have rested before it is read.
const defaultQuiet = 2 * time.Second

// The orders of day and month in dates such as 03/06/2024.
const (
	dayFirst   = "day-first"
	monthFirst = "month-first"
)

// Settings are the folder's part of the config.
type Settings struct {
	Account  string        `yaml:"account"`  // a name of your own for what the folder holds; it must never change, the path may
	Path     string        `yaml:"path"`     // the folder
	Dates    string        `yaml:"dates"`    // day-first or month-first; empty: dates such as 03/06/2024 are refused
	Currency string        `yaml:"currency"` // of rows that state none
	Quiet    time.Duration `yaml:"quiet"`    // a file that changed more recently is left for the next pass; 0 means 2s
}

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	if strings.TrimSpace(s.Account) == "" {
		faults = append(faults, errors.New("folder: account: missing: give what the folder holds a name that never changes, such as the agency's"))
	}
	if s.Path == "" {
		faults = append(faults, errors.New("folder: path: missing: name the folder that holds the export files"))
	}
	if s.Dates != "" && s.Dates != dayFirst && s.Dates != monthFirst {
		faults = append(faults, fmt.Errorf("folder: dates: %q is neither %s nor %s", s.Dates, dayFirst, monthFirst))
	}
	if s.Currency != "" {
		if _, err := money.ParseCurrency(s.Currency); err != nil {
			faults = append(faults, fmt.Errorf("folder: currency: %w", err))
		}
	}
	if s.Quiet < 0 {
		faults = append(faults, fmt.Errorf("folder: quiet: %s is negative", s.Quiet))
	}
	return errors.Join(faults...)
}

func (s Settings) currency() money.Currency { return money.Currency(s.Currency) }
