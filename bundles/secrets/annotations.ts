/** A Secret that the agent fills from a sealed set of the site, and which of its keys (docs/bundle-format.md section 16). */
export const SECRET_SET = 'fleet-ferry/secret-set';
export const SECRET_KEYS = 'fleet-ferry/secret-keys';
