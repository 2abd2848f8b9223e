/**
 * What everything that opens a root for development says: one person can sign everything, and nobody may find that out
 * at the wrong moment (security design, section 2).
 */
export const DEV_ROOT_NOTICE =
  'DEV ROOT: one person can sign everything. For trying things out only, never for real machines.';
