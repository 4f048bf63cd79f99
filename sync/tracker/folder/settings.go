package folder

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/config"
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
	// Account names what the folder holds for good, such as "agency". It is not the path, which may change.
	Account string `yaml:"account"`
	// Path is the folder. Folders below it are not looked into.
	Path config.Path `yaml:"path"`
	// Dates says what comes first in dates such as 03/06/2024: day-first or month-first. Without it they are refused.
	Dates string `yaml:"dates,omitempty"`
	// Currency is that of rows whose file states none.
	Currency string `yaml:"currency,omitempty"`
	// Quiet is how long a file must have rested before it is read; left out or zero, 2s.
	Quiet config.Duration `yaml:"quiet,omitempty"`
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
