import { FleetError } from '../../errors.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import type { Document } from '../../formats/layout/document.ts';
import { statementFiles } from '../../formats/statements/statement-files.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { PREDICATES } from '../../media-types.ts';
import { verifyCheckpoint } from '../../trust/statements/audit-checkpoint.ts';
import { verifyReceipt } from '../../trust/reports/receipt.ts';
import { MAX_STATEMENT_BYTES } from '../../formats/statements/envelope.ts';
import type { Audience, ReleasePredicate } from '../../formats/statements/predicates.ts';
import {
  MAX_SIGNATURES,
  type VerifiedStatement,
  verifyStatement,
} from '../../trust/statements/verify-statement.ts';
import { formatTime, parseTime } from '../../time.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { parseAs } from '../../json/parse-as.ts';
import { LEASE_PREDICATE, RELEASE_PREDICATE, SITE_PREDICATE } from '../../json/schema/validators.js';
import type { PointerVersion, Pointer } from './upload-batch.ts';

/** A verified release. */
export type SignedRelease = {
  readonly predicate: ReleasePredicate;
  readonly statement: VerifiedStatement;
};

/**
 * Returns the version of a pointer's artifact, from the statement in it, verified under one root.
 * @throws FleetError SCHEMA, WRONG_FLEET, WRONG_CHANNEL, WRONG_SITE for a statement about another pointer; as verifyStatement if this
 * root's keys did not sign it
 */
export const readVersion = async (
  { repository, tag }: Pick<Pointer, 'repository' | 'tag'>,
  blobs: BlobSource,
  documents: readonly Document[],
  root: TrustRoot,
): Promise<PointerVersion> => {
  switch (tag) {
    case 'log': {
      const envelopes = await readAll(blobs, documents, 'audit');
      const { count, head, time } = verifyCheckpoint(envelopes, root.audit, `the audit log in ${blobs.name}`);
      return {
        number: count,
        name: `the audit log of ${count} ${count === 1 ? 'entry' : 'entries'}`,
        identity: head,
        at: parseTime(time),
      };
    }
    case 'release': {
      const { predicate, statement } = await readSignedRelease(repository, blobs, documents, root);
      const { version, issuedAt, previous } = predicate;
      return {
        number: version,
        name: `release ${version}`,
        identity: statement.digest,
        at: parseTime(issuedAt),
        previous,
      };
    }
    case 'lease': {
      const what = `the lease in ${blobs.name}`;
      const statement = verifyStatement(
        await readAll(blobs, documents, 'lease'),
        root.roles.lease,
        PREDICATES.lease,
        what,
      );
      const { audience, version, issuedAt } = parseAs(LEASE_PREDICATE, statement.predicate, what);
      checkChannel(audience, repository, root, what);
      return {
        number: version,
        name: `lease ${version}`,
        identity: statement.digest,
        at: parseTime(issuedAt),
      };
    }
    case 'site': {
      const statement = verifyStatement(
        await readAll(blobs, documents, 'site'),
        root.roles.release,
        PREDICATES.site,
        `the site statement in ${repository}`,
      );
      const predicate = parseAs(SITE_PREDICATE, statement.predicate, `the site statement in ${repository}`);
      const { fleet, site } = predicate.audience;
      if (fleet !== root.fleet || `sites/${site}` !== repository)
        throw new FleetError('WRONG_SITE', `the site statement in ${blobs.name} is for ${fleet}/${site}`);
      const { version, issuedAt } = predicate;
      return {
        number: version,
        name: `statement ${version}`,
        identity: statement.digest,
        at: parseTime(issuedAt),
      };
    }
    case 'receipts': {
      const receipts = documents.filter(({ role }) => role === 'receipt');
      const times = await Promise.all(
        receipts.map(async ({ digest, agent = '' }) => {
          const { time } = verifyReceipt(await readBlob(blobs, digest, MAX_STATEMENT_BYTES), root, agent);
          return parseTime(time).getTime();
        }),
      );
      const newest = Math.max(0, ...times);
      const at = new Date(newest);
      // Two receipts artifacts of the same second are valid: a second report arrived in it.
      return { number: newest, name: `the receipts of ${formatTime(at)}`, identity: undefined, at };
    }
  }
};

/** @param repository '<environment>/<cluster type>' @throws as readVersion */
export const readSignedRelease = async (
  repository: string,
  blobs: BlobSource,
  documents: readonly Document[],
  root: TrustRoot,
): Promise<SignedRelease> => {
  const what = `the release in ${blobs.name}`;
  const statement = verifyStatement(
    await readAll(blobs, documents, 'release'),
    root.roles.release,
    PREDICATES.release,
    what,
  );
  const predicate = parseAs(RELEASE_PREDICATE, statement.predicate, what);
  checkChannel(predicate.audience, repository, root, what);
  return { predicate, statement };
};

const checkChannel = (
  { fleet, environment, clusterType }: Audience,
  repository: string,
  root: TrustRoot,
  what: string,
): void => {
  if (fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${fleet}, not ${root.fleet}`);
  if (`${environment}/${clusterType}` !== repository)
    throw new FleetError('WRONG_CHANNEL', `${what} is of ${environment}/${clusterType}, not ${repository}`);
};

/** @throws FleetError TOO_MANY before anything is fetched, because every client that may push can add files to a registry */
const readAll = async (
  blobs: BlobSource,
  documents: readonly Document[],
  wanted: string,
): Promise<Buffer[]> => {
  const files = documents.filter(({ role }) => role === wanted);
  if (files.length > MAX_SIGNATURES) {
    throw new FleetError(
      'TOO_MANY',
      `${blobs.name} has ${files.length} ${wanted} statements under one tag, at most ${MAX_SIGNATURES} are read`,
    );
  }
  return statementFiles(blobs, files, wanted);
};
