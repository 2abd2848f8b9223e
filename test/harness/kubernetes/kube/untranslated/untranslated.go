// Package untranslated keeps kubectl's messages in English. Loading translations takes half of what a start of kubectl costs.
// Go initializes packages by the alphabet where their imports allow: this one before all of k8s.io that translates.
package untranslated

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	if err := i18n.SetLoadTranslationsFunc(func() error { return nil }); err != nil {
		panic(err)
	}
}
