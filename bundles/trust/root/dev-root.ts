/**
 * Printed by every program that opens a development root, so that it is not mistaken for a production root (security design,
 * section 2).
 */
export const DEV_ROOT_NOTICE =
  'DEV ROOT: one person can sign everything. For trying things out only, never for real machines.';
