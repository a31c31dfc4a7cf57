package bands

// Methods are the ways to clone that this system knows, the best first. There
// are no links: hdiutil would write through them into every clone.
var Methods = []Method{Clonefile, Reflink, Copy}
