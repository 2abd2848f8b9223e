import type { AttackRow } from './row.ts';

/** Local users of a host that runs an agent (L1 to L19). */
export const LOCAL_USERS: readonly AttackRow[] = [];
