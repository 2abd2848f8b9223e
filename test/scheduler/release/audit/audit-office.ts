import { digestOf } from '#bundles/digest';
import { readArtifact } from '#bundles/formats/layout/artifact';
import type { Document } from '#bundles/formats/layout/document';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { AUDIT_ARTIFACT, AUDIT_NDJSON, PREDICATES } from '#bundles/media-types';
import type {
  ApprovalPredicate,
  DecisionPredicate,
  PromotionPredicate,
} from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { type NewDocument, writeArtifact } from '../../../../scheduler/load/releases/artifact.ts';
import { type AuditLog, readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { AUDIT_REFERENCE } from '../../../../scheduler/load/releases/references.ts';
import {
  type Appended,
  appendEntry,
  type NewEntry,
} from '../../../../scheduler/release/audit/append-entry.ts';
import { signApproval } from '../../../../scheduler/hub/promote/decide/approve-for.ts';
import { renewRelease } from '../../../../scheduler/release/reissue/renew-release.ts';
import { KIOSK, NOW, openReleaseOffice, type ReleaseOffice } from '../reissue/release-office.ts';

export const CANDIDATE = digestOf('a candidate');

/** The parts of the log's artifact, for tests that put them together in another way. */
export type StoredLog = {
  /** Each with its line feed. */
  readonly lines: readonly string[];
  readonly checkpoint: Buffer;
  readonly roots: readonly Document[];
};

/** An office with an audit log. Statements carry the keys of its fleet unless a test gives another key. */
export type AuditOffice = ReleaseOffice & {
  readonly promotion: (change?: Partial<PromotionPredicate>, key?: SigningKey) => Promise<NewEntry>;
  readonly approval: (change?: Partial<ApprovalPredicate>, key?: SigningKey) => Promise<NewEntry>;
  readonly decision: (change?: Partial<DecisionPredicate>, key?: SigningKey) => Promise<NewEntry>;
  readonly append: (entry: NewEntry, now?: Date) => Promise<Appended>;
  /** Renews the release of prod/kiosk, which then names the newest entry of the log. */
  readonly renew: () => Promise<void>;
  readonly read: () => Promise<AuditLog>;
  readonly stored: () => Promise<StoredLog>;
  /** Writes the log as somebody does who can write to the layout and has no key. */
  readonly store: (log: StoredLog) => Promise<void>;
};

export const openAuditOffice = async (): Promise<AuditOffice> => {
  const office = await openReleaseOffice();
  const common = { fleet: 'acme', time: formatTime(NOW), critical: [] };
  return {
    ...office,
    promotion: async (change, key = office.fleet().keys.release) => {
      const predicate: PromotionPredicate = {
        ...common,
        from: 'qa',
        to: 'prod',
        number: 1,
        shared: digestOf('shared'),
        mode: 'manual',
        person: 'ada',
        reason: null,
        policy: null,
        verdict: null,
        approvals: [],
        previous: null,
        ...change,
      };
      const subjects = [{ name: 'candidate', digest: CANDIDATE }];
      const payload = encodeStatement(subjects, PREDICATES.promotion, predicate);
      return { kind: 'promotion', statement: await signPayload(payload, key) };
    },
    approval: async (change, key = office.fleet().keys.bundle) => {
      const approval = { to: 'prod', shared: digestOf('shared'), person: 'ada', reason: 'seen in qa' };
      const statement = await signApproval(CANDIDATE, { ...common, ...approval, ...change }, key);
      return { kind: 'approval', statement };
    },
    decision: async (change, key = office.fleet().keys.audit) => {
      const decision = { decision: 'pause' as const, environment: 'prod', person: 'ada', reason: 'a fault' };
      const predicate = { ...common, ...decision, ...change };
      const subjects = [{ name: 'environment', digest: digestOf(predicate.environment) }];
      const payload = encodeStatement(subjects, PREDICATES.decision, predicate);
      return { kind: 'decision', statement: await signPayload(payload, key) };
    },
    append: async (entry, now = NOW) => {
      using releases = await office.releases(now);
      return await appendEntry(releases, office.keys(), entry, now);
    },
    renew: async () => {
      using releases = await office.releases();
      const order = { channel: KIOSK, previous: await office.current(), now: NOW, anyway: true };
      const renewed = await renewRelease(await releases.open(), office.keys(), order);
      await releases.point(renewed.references);
    },
    read: async () => readAuditLog(await openLayout(office.directory), office.keys().roots),
    stored: async () => {
      const layout = await openLayout(office.directory);
      const artifact = findReference(layout, AUDIT_REFERENCE);
      if (!artifact) throw new Error('there is no log');
      const documents = await readArtifact(layout.blobs, artifact, { what: 'the log' });
      const read = async (role: string): Promise<Buffer> =>
        Buffer.concat(
          await Promise.all(
            documents
              .filter((one) => one.role === role)
              .map(({ digest, size }) => readBlob(layout.blobs, digest, size)),
          ),
        );
      return {
        lines: (await read('audit-segment')).toString().split(/(?<=\n)/),
        checkpoint: await read('audit'),
        roots: documents.filter(({ role }) => role === 'root'),
      };
    },
    store: async ({ lines, checkpoint, roots }) => {
      using releases = await office.releases();
      const layout = await releases.open();
      const rest = await Promise.all(
        roots.map(async ({ digest, size, ...root }) => ({
          ...root,
          bytes: await readBlob(layout.blobs, digest, size),
        })),
      );
      const documents: readonly NewDocument[] = [
        { role: 'audit', mediaType: 'application/json', bytes: checkpoint },
        { role: 'audit-segment', mediaType: AUDIT_NDJSON, bytes: Buffer.from(lines.join('')) },
        ...rest,
      ];
      const artifact = await writeArtifact(layout, AUDIT_ARTIFACT, documents);
      await releases.point(new Map([[AUDIT_REFERENCE, artifact]]));
    },
  };
};
