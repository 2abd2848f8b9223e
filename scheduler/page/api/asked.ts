/** Parameters of addresses that the hub is asked with, beside the cursor; the page applies all others to the rows that it has. */
export const ASKED: readonly string[] = ['environment', 'site', 'name', 'at'];
