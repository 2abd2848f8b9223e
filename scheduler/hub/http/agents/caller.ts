import type { CertifiedAgent } from '#bundles/trust/root/check-certificate';
import type { AgentRow } from '../../store/tables.ts';

/** An authenticated agent: the identity in its certificate, and its current record. */
export type Caller = { readonly certified: CertifiedAgent; readonly agent: AgentRow };
