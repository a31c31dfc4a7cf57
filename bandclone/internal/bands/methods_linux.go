package bands

// Methods are the ways to clone that this system knows, the best first. A link
// comes first because the band server breaks it before it writes.
var Methods = []Method{Link, Reflink, Copy}
