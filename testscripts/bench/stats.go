package main

import (
	"math"
	"slices"
	"strings"
)

// result is what was measured of a subject.
type result struct {
	subject
	samples map[string][]float64 // by candidate
	absent  map[string]string    // by candidate: why there are none
}

func newResult(s subject) *result {
	return &result{s, map[string][]float64{}, map[string]string{}}
}

// median of a candidate's samples; false if it was not measured to the end.
func (r *result) median(name string) (float64, bool) {
	if r == nil || r.absent[name] != "" || len(r.samples[name]) == 0 {
		return 0, false
	}
	return quantile(r.samples[name], 0.5), true
}

// quantile interpolates between the two samples that it lies between.
func quantile(samples []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	at := q * float64(len(s)-1)
	low, high := int(math.Floor(at)), int(math.Ceil(at))
	return s[low] + (s[high]-s[low])*(at-float64(low))
}

// isOurs tells agentfs from what it is measured beside.
func isOurs(candidate string) bool { return strings.HasPrefix(candidate, ours) }
