import { FleetError } from '#bundles/errors';
import { REPORTS_PATH, type ReportAnswer, type ReportHandover } from '#bundles/formats/events/hub-api';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Agent } from '../store/agent.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { record } from '../store/journal/boundary.ts';
import { fullName } from '../store/identity.ts';
import { saveCondition } from '../store/conditions.ts';
import { momentOf } from '../store/last-look.ts';
import { acknowledge } from '../store/outbox/acknowledge.ts';
import { signedBatches } from './signed-batches.ts';

/** Limit for an answer with MAX_RECEIPTS receipts of 64 KiB. */
const MAX_ANSWER_BYTES = 6 << 20;
const MAX_RECEIPTS = 64;
/** Most bytes of one batch: about a minute at 64 kbit/s, which is sent again after a cut. */
const MAX_BATCH_BYTES = 512 << 10;

/**
 * Uploads all waiting events to the hub in batches. Events leave the outbox only for a receipt with a valid signature and a
 * matching head, so a hub that fails before it answers receives the same batch again and recognises it. Needs no lock: each
 * answer is stored in one transaction, and apply does not depend on the outbox.
 * @returns the number of acknowledged events @throws FleetError HUB_*, CERTIFICATE_INVALID, RECEIPT_INVALID, NOT_ENROLLED
 */
export const handOver = async (
  agent: Agent,
  key: SigningKey,
  hub: HubClient,
  root: TrustRoot,
): Promise<number> => {
  let gone = 0;
  for await (const { to, signed } of signedBatches(agent, key, MAX_BATCH_BYTES)) {
    const body: ReportHandover = {
      statement: JSON.parse(signed.statement.toString()) as ReportHandover['statement'],
      events: signed.events.toString(),
    };
    const receipts = readReceipts(
      await hub.post(REPORTS_PATH, body, MAX_ANSWER_BYTES, agent.signal),
      hub.url,
    );
    const verified = receipts.map((bytes) => verifyReceipt(bytes, root, fullName(agent.identity)));
    const { events, contradicting } = record(agent, `receipts for ${to}`, () => {
      if (verified.some((receipt) => receipt.to >= to))
        saveCondition(agent.state, 'signed', momentOf(agent.edge));
      return acknowledge(agent, verified, { tell: false });
    });
    gone += events;
    if (contradicting > 0) throw contradictionError(hub.url);
    if (!verified.some((receipt) => receipt.to >= to)) {
      throw new FleetError(
        'RECEIPT_INVALID',
        `${hub.url} took events up to ${to} and sent no receipt for them`,
        {
          hint: 'They stay here and are sent again',
        },
      );
    }
  }
  return gone;
};

const contradictionError = (url: string): FleetError =>
  new FleetError(
    'RECEIPT_INVALID',
    `${url} acknowledges other events than this outbox has, so they were kept`,
    {
      hint: 'Tell the platform team: this machine was restored from a copy, or another one has its key',
    },
  );

const readReceipts = (answer: unknown, url: string): readonly Buffer[] => {
  const { receipts } = (answer ?? {}) as Partial<ReportAnswer>;
  if (!Array.isArray(receipts) || receipts.length > MAX_RECEIPTS)
    throw new FleetError('HUB_REFUSED', `${url} does not answer a report with a list of receipts`);
  // The signed payload is base64 inside the envelope, so serialising the envelope again does not affect it.
  return receipts.map((receipt) => Buffer.from(JSON.stringify(receipt)));
};
