import { FleetError } from '#bundles/errors';
import { PREDICATES, type StatementKind } from '#bundles/media-types';
import type { Authority } from '#bundles/trust/certificate';
import type { SignerRole } from '../protocol.ts';
import { judgeBundle } from './judge-bundle.ts';
import { judgeCertificate } from './judge-certificate.ts';
import { judgeLease } from './judge-lease.ts';
import { judgeReceipt } from './judge-receipt.ts';
import { judgeRelease } from './judge-release.ts';
import { judgeSite } from './judge-site.ts';
import type { Judging, Permit } from './judging.ts';
import { type ReadStatement, readPayload } from './read-payload.ts';

type Judge = (statement: ReadStatement, judging: Judging) => Permit;

/** What each key signs, by the statement's kind. A release key signs sites' orders too (security: roles). */
const JUDGES: Readonly<Record<Exclude<SignerRole, 'authority'>, Partial<Record<StatementKind, Judge>>>> = {
  bundle: { bundle: judgeBundle },
  release: { release: judgeRelease, site: judgeSite },
  lease: { lease: judgeLease },
  receipt: { receipt: judgeReceipt },
};

/**
 * May these bytes be signed by the key of this role? Nothing is signed that was not understood.
 * @param authority what certificates are issued by; undefined where this signer holds no such key
 * @throws FleetError PREDICATE_TYPE for another role's statement, and those of the judges
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
