import { bundlesOf } from '../../../load/releases/read-release.ts';
import { FleetError } from '#bundles/errors';
import { readManifest } from '#bundles/formats/layout/read-manifest';
import { parseImageManifest } from '#bundles/formats/layout/manifest';
import { openOrStartLayout, type Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { openRemoteEvidence, type RemoteEvidence } from '../../../keys/remote/remote-key.ts';
import { MAX_REQUEST_BYTES, MAX_SHOWN, type ShowRequest } from '../../../keys/remote/protocol.ts';
import { restoreReports } from '../../ingest/reports/restore-reports.ts';
import type { Database } from '../../store/tables.ts';
import type { GateHub } from './gate-hub.ts';
import type { Link } from '../facts/link.ts';
import { readChannels } from '../facts/read-channels.ts';

/**
 * Shows the signer the reports of the earlier environment's agents that it does not have, oldest first, and the bundles that the
 * environment runs: with `evidence: signed` the signer judges compliance before it signs a promotion.
 * @returns '<agent>: <count>' for agents with reports that cannot be shown: the hub does not have their events as they were signed
 * @throws FleetError USAGE if no signer holds the release key, or it judges no reports; its refusals of reports
 */
export const showEvidence = async (
  hub: GateHub,
  { from, policy }: Pick<Link, 'from' | 'policy'>,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const socket = hub.keys.signerOf('release');
  if (socket === undefined)
    throw new FleetError(
      'USAGE',
      'evidence: signed needs a signer, and the release key is in no signer process',
      {
        ...(policy && { subject: `PromotionPolicy ${policy.name}`, at: policy.at }),
        hint: 'Name the socket of the signer in keys.yaml, or take evidence: signed out of the policy',
      },
    );
  const signer = await openRemoteEvidence(socket);
  const layout = await openOrStartLayout(hub.layout);
  const documents = await readDocuments(hub, layout, from, signal);
  await signer.show({ reports: [], documents: documents.map(toBase64) });
  return hub.store ? await showReports(hub.store.db, signer, from, signal) : [];
};

/** Manifests and configs of the bundles of an environment's current releases. */
const readDocuments = async (
  { keys }: GateHub,
  layout: Layout,
  from: string,
  signal: AbortSignal,
): Promise<readonly Buffer[]> => {
  const documents: Buffer[] = [];
  for (const { release } of await readChannels(layout, keys.roots, from)) {
    for (const digest of release ? bundlesOf(release) : []) {
      const bytes = await readManifest(layout.blobs, digest, signal);
      const { config } = parseImageManifest(bytes, 'the manifest of a bundle');
      documents.push(bytes, await readBlob(layout.blobs, config.digest, config.size, signal));
    }
  }
  return documents;
};

type Report = ShowRequest['reports'][number];

/** Half of what a request may have, so that one more report of the largest size fits. */
const BATCH_BYTES = MAX_REQUEST_BYTES / 4;

const showReports = async (
  db: Database,
  signer: RemoteEvidence,
  from: string,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const heads = new Map((await signer.heads()).map((head) => [head.agent, head]));
  const agents = await db
    .selectFrom('agent')
    .select(['id', 'life', 'key'])
    .where('environment', '=', from)
    .where('revoked_at', 'is', null)
    .where('follower', 'is', null)
    .orderBy('id')
    .execute();
  let batch: Report[] = [];
  let size = 0;
  const leftOut: string[] = [];
  const send = async (): Promise<void> => {
    if (batch.length > 0) await signer.show({ reports: batch, documents: [] });
    [batch, size] = [[], 0];
  };
  for (const { id, life, key } of agents) {
    signal.throwIfAborted();
    const head = heads.get(id);
    const after = head?.key === key ? head.seq : 0;
    const { reports, lost } = await restoreReports(db, { id, life, after });
    if (lost > 0) leftOut.push(`${id}: ${lost}`);
    for (const { statement, events } of reports) {
      const report = { statement: toBase64(statement), events: toBase64(events) };
      batch.push(report);
      size += report.events.length + report.statement.length;
      if (size > BATCH_BYTES || batch.length >= MAX_SHOWN) await send();
    }
  }
  await send();
  return leftOut;
};

const toBase64 = (bytes: Buffer): string => bytes.toString('base64');
