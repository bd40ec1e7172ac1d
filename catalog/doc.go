// Package catalog is what progress is: ledger, offer, requirement, and the commit state machine over them.
package catalog
