import type { X509Certificate } from 'node:crypto';
import type { Digest } from '#bundles/digest';
import { formatTime, parseTime } from '#bundles/time';
import { raiseAlarm } from '../../ingest/reports/raise-alarm.ts';
import type { Context } from '../context.ts';
import type { Caller } from './caller.ts';

/** Requests that began with the certificate before end within it. */
const GRACE_MS = 3_600_000;

/**
 * Follows the certificates that are shown with the key of an agent. One machine uses each until it has the next, so one that was
 * replaced and comes back is a copy of the machine, or its restored disk: an alarm. The agent is not refused, because the copy may
 * be the one with the newer certificate.
 */
export const noteCertificate = async (
  certificate: X509Certificate,
  { agent, certified }: Caller,
  { hub: { store }, clock }: Pick<Context, 'hub' | 'clock'>,
): Promise<void> => {
  const shown = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  if (agent.key !== certified.key.pem || shown === agent.certificate) return;
  const now = clock();
  if (shown !== agent.certificate_before) {
    const columns = {
      certificate: shown,
      certificate_since: formatTime(now),
      certificate_before: agent.certificate,
    };
    await store.transact((tx) =>
      tx
        .updateTable('agent')
        .set(columns)
        .where('id', '=', agent.id)
        .where('key', '=', agent.key)
        .where((eb) =>
          agent.certificate === null
            ? eb('certificate', 'is', null)
            : eb('certificate', '=', agent.certificate),
        )
        .execute(),
    );
    return;
  }
  const since = agent.certificate_since ?? formatTime(now);
  if (now.getTime() - parseTime(since).getTime() <= GRACE_MS) return;
  const digest: Digest = `sha256:${shown}`;
  const known = await store.db
    .selectFrom('alarm')
    .select('id')
    .where('agent', '=', agent.id)
    .where('code', '=', 'KEY_COPIED')
    .where('report', '=', digest)
    .executeTakeFirst();
  if (known) return;
  const source = { agent: agent.id, life: agent.life, digest, received_at: formatTime(now) };
  const message = `a certificate that was replaced at ${since} is used again`;
  await store.transact((tx) => raiseAlarm(tx, source, { code: 'KEY_COPIED', message, events: null }));
};
