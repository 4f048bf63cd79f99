package kimai

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/config"
	"tidemark/internal/remote"
)

// The defaults of the settings, and what Kimai allows.
const (
	defaultPageSize  = 500
	largestPage      = 500
	defaultPerSecond = 5
)

// Where approvals come from: Kimai itself has none.
const (
	auto           = "auto"            // weekly_overtime where it is switched on, else week_status
	weeklyOvertime = "weekly_overtime" // of the plugin ApprovalBundle: all weeks of a user at once
	weekStatus     = "week_status"     // of the same plugin: one week of a user
	none           = "none"            // the entries themselves tell
)

// What is done with a week of which only some entries are approved.
const (
	wait = "wait"
	take = "take"
)

// Settings are Kimai's part of the config.
type Settings struct {
	// Account names this Kimai for good. It is not its host, which may move.
	Account string `yaml:"account" jsonschema:"required" jsonschema_description:"A name of this Kimai that never changes; its host may move."`
	// URL is where Kimai is, with or without /api at its end.
	URL string `yaml:"url" jsonschema:"required" jsonschema_description:"Where Kimai is, such as https://time.example.com."`
	// Token is an API token of somebody who may see the entries, rates and approvals of all users.
	Token config.Secret `yaml:"token" jsonschema:"required" jsonschema_description:"An API token (Kimai > user menu > API access) of somebody who may see the entries, rates and approvals of all users."`
	// Approval says where approvals come from: the plugin ApprovalBundle, or the entries themselves. Left out,
	// it is what the plugin offers.
	Approval string `yaml:"approval,omitempty" jsonschema:"enum=auto,enum=weekly_overtime,enum=week_status,enum=none" jsonschema_description:"Where approvals come from. auto, the default: whichever of weekly_overtime and week_status the plugin ApprovalBundle offers. none: the entries themselves tell, see approved_when."`
	// ApprovedWhen says which entries are approved where there is no plugin.
	ApprovedWhen *ApprovedWhen `yaml:"approved_when,omitempty" jsonschema_description:"With approval: none, which entries are approved."`
	// Partial says what is done, without the plugin, with a week of which some entries are approved: wait until
	// all are, or take what is.
	Partial string `yaml:"partial,omitempty" jsonschema:"enum=wait,enum=take" jsonschema_description:"With approval: none, a week of which only some entries are approved: wait, the default, until all are, or take what is."`
	// Labels says what labels of a week's status mean, where Kimai speaks a language that is not known here.
	Labels map[string]string `yaml:"labels,omitempty" jsonschema_description:"What the labels of a week's status mean, where Kimai speaks a language other than English, German or Croatian: {\"Approuvé\": approved, …: submitted, …: denied, …: not_submitted}."`
	// PageSize is how many entries are asked for at once; left out, 500.
	PageSize int `yaml:"page_size,omitempty" jsonschema:"minimum=1,maximum=500" jsonschema_description:"Entries of one answer. Default 500."`
	// RequestsPerSecond is how often Kimai is asked at most; left out, 5.
	RequestsPerSecond float64 `yaml:"requests_per_second,omitempty" jsonschema_description:"Default 5."`
}

// ApprovedWhen says what an entry has that is approved: one of the two.
type ApprovedWhen struct {
	// Tag is a tag that approved entries bear.
	Tag string `yaml:"tag,omitempty" jsonschema_description:"A tag that approved entries bear."`
	// Exported says that exported entries are approved, rather than billed elsewhere.
	Exported bool `yaml:"exported,omitempty" jsonschema_description:"Exported entries are approved. Without this, they count as billed elsewhere."`
}

// Validate returns every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	fault := func(wrong bool, field, format string, args ...any) {
		if wrong {
			faults = append(faults, config.FieldError{Field: field, Err: fmt.Errorf(format, args...)})
		}
	}
	fault(strings.TrimSpace(s.Account) == "", "account", "missing: give this Kimai a name that never changes")
	fault(s.Token.Reveal() == "", "token", "missing: create one in Kimai, in the menu of the user, under API access")
	if _, err := remote.ParseBase(s.base()); s.URL == "" {
		fault(true, "url", "missing: where Kimai is, such as https://time.example.com")
	} else {
		fault(err != nil, "url", "%w", err)
	}
	fault(!slices.Contains([]string{"", auto, weeklyOvertime, weekStatus, none}, s.Approval), "approval", "%q is neither %s, %s, %s nor %s", s.Approval, auto, weeklyOvertime, weekStatus, none)
	fault(s.Approval == none && s.ApprovedWhen == nil, "approved_when", "missing: without the plugin, say which entries are approved: {tag: NAME} or {exported: true}")
	fault(s.Approval != none && s.ApprovedWhen != nil, "approved_when", "the plugin tells what is approved: take this out, or set approval: none")
	if when := s.ApprovedWhen; when != nil {
		fault((when.Tag == "") != when.Exported, "approved_when", "write exactly one of {tag: NAME} and {exported: true}")
	}
	fault(!slices.Contains([]string{"", wait, take}, s.Partial), "partial", "%q is neither %s nor %s", s.Partial, wait, take)
	fault(s.Approval != none && s.Partial != "", "partial", "the plugin approves whole weeks: take this out, or set approval: none")
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		_, known := known(s.Labels[label])
		fault(!known, "labels."+label, "%q is neither %s, %s, %s nor %s", s.Labels[label], approved, submitted, denied, notSubmitted)
	}
	fault(s.PageSize < 0 || s.PageSize > largestPage, "page_size", "%d is not between 1 and %d", s.PageSize, largestPage)
	fault(s.RequestsPerSecond < 0, "requests_per_second", "%v is less than nothing", s.RequestsPerSecond)
	return errors.Join(faults...)
}

func (s Settings) base() string {
	return strings.TrimSuffix(strings.TrimRight(s.URL, "/"), "/api") + "/api"
}

func (s Settings) pageSize() int { return cmp.Or(s.PageSize, defaultPageSize) }

// plugin reports whether approvals come from the plugin.
func (s Settings) plugin() bool { return s.Approval != none }
