//go:build simonly

package harness

import "tidemark/world"

// containedAbilities is empty in a program that was built without the container world.
func containedAbilities() []world.Ability { return nil }
