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
	Account string `yaml:"account" jsonschema:"required" jsonschema_description:"An immutable name of what the folder holds; never the path."`
	// Path is the folder. Folders below it are not looked into.
	Path config.Path `yaml:"path" jsonschema:"required" jsonschema_description:"The folder of export files, relative to the config file."`
	// Dates says what comes first in dates such as 03/06/2024: day-first or month-first. Without it they are refused.
	Dates string `yaml:"dates,omitempty" jsonschema:"enum=day-first,enum=month-first" jsonschema_description:"What comes first in dates such as 03/06/2024. Without it they are refused."`
	// Currency is that of rows whose file states none.
	Currency string `yaml:"currency,omitempty" jsonschema:"pattern=^[A-Z]{3}$" jsonschema_description:"Of rows whose file states none, such as EUR."`
	// Quiet is how long a file must have rested before it is read; left out, 2s.
	Quiet *config.Duration `yaml:"quiet,omitempty" jsonschema_description:"How long a file must have rested before it is read. Default 2s."`
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
	return errors.Join(faults...)
}
