import { FleetError } from '#bundles/errors';
import { PREDICATES, SLSA_SUMMARY, type StatementKind } from '#bundles/media-types';
import type { Authority } from '#bundles/trust/root/certificate';
import type { SignerRole } from '../../remote/protocol.ts';
import { judgeBundle } from './judge-bundle.ts';
import { judgeCertificate } from './judge-certificate.ts';
import { judgeLease } from './judge-lease.ts';
import { judgePromotion } from './judge-promotion.ts';
import { judgeReceipt } from './judge-receipt.ts';
import { judgeRelease } from './judge-release.ts';
import { judgeSummary } from './judge-summary.ts';
import { judgeSite } from './judge-site.ts';
import type { Judging, Permit } from './judging.ts';
import { type ReadStatement, readPayload } from './read-payload.ts';

type Judge = (statement: ReadStatement, judging: Judging) => Permit;

/** The kinds of statements that each key signs. The release key also signs site statements, promotions and their summaries. */
const JUDGES: Readonly<Record<Exclude<SignerRole, 'authority'>, Partial<Record<StatementKind, Judge>>>> = {
  bundle: { bundle: judgeBundle },
  release: { release: judgeRelease, site: judgeSite, promotion: judgePromotion },
  lease: { lease: judgeLease },
  receipt: { receipt: judgeReceipt },
};

/**
 * Decides whether the key of a role may sign these bytes. Only bytes that are completely understood are signed.
 * @param authority the authority for certificates; undefined if this signer has none
 * @throws FleetError PREDICATE_TYPE for another role's statement; SIGNER_REFUSED, NOT_NEWER, NOT_PROMOTED, APPROVAL_MISSING, REVOKED
 *   and the other codes that the functions for each kind list
 */
export const judgeRequest = async (
  role: SignerRole,
  bytes: Buffer,
  judging: Judging,
  authority: Authority | undefined,
): Promise<Permit> => {
  if (role === 'authority') {
    if (authority) return judgeCertificate(bytes, judging, authority);
    throw new FleetError('KEY_MISSING', 'this signer holds no authority');
  }
  const statement = readPayload(bytes);
  if (role === 'release' && statement.predicateType === SLSA_SUMMARY) return judgeSummary(statement, judging);
  const judges: Partial<Record<StatementKind, Judge>> = JUDGES[role];
  const kind = (Object.keys(judges) as StatementKind[]).find(
    (one) => PREDICATES[one] === statement.predicateType,
  );
  const judge = kind && judges[kind];
  if (judge) return judge(statement, judging);
  throw new FleetError(
    'PREDICATE_TYPE',
    `the ${role} key does not sign ${JSON.stringify(statement.predicateType.slice(0, 80))}`,
    { hint: 'Each role has a key of its own' },
  );
};
