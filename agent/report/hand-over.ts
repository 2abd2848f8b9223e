import { FleetError } from '#bundles/errors';
import { REPORTS_PATH, type ReportAnswer, type ReportHandover } from '#bundles/hub/hub-api';
import { verifyReceipt } from '#bundles/report/receipt';
import type { SigningKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import type { Agent } from '../agent.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { record } from '../journal/boundary.ts';
import { fullName } from '../store/identity.ts';
import { acknowledge } from './acknowledge.ts';
import { signedBatches } from './signed-batches.ts';

/** Receipts of 64 KiB, as many as a channel's documents may have. */
const MAX_ANSWER_BYTES = 6 << 20;
const MAX_RECEIPTS = 64;

/**
 * Hands every waiting event to the hub, batch by batch. Events leave the outbox only for a receipt whose signature and head
 * fit, so a hub that dies between taking and answering gets the same again, and knows it.
 * Needs no lock: each answer is taken in one transaction, and the outbox is no part of what applying does.
 * @returns how many events went @throws FleetError HUB_*, CERTIFICATE_INVALID, RECEIPT_INVALID, NOT_ENROLLED ...
 */
export const handOver = async (
  agent: Agent,
  key: SigningKey,
  hub: HubClient,
  root: TrustRoot,
): Promise<number> => {
  let gone = 0;
  for await (const { to, signed } of signedBatches(agent, key)) {
    const body: ReportHandover = {
      statement: JSON.parse(signed.statement.toString()) as object,
      events: signed.events.toString(),
    };
    const receipts = readReceipts(
      await hub.post(REPORTS_PATH, body, MAX_ANSWER_BYTES, agent.signal),
      hub.url,
    );
    const verified = receipts.map((bytes) => verifyReceipt(bytes, root, fullName(agent.identity)));
    const { events, contradicting } = record(agent, `receipts for ${to}`, () =>
      acknowledge(agent, verified, { tell: false }),
    );
    gone += events;
    if (contradicting > 0) throw contradicted(hub.url);
    if (!verified.some((receipt) => receipt.to >= to)) {
      throw new FleetError(
        'RECEIPT_INVALID',
        `${hub.url} took events up to ${to} and gave no receipt for them`,
        {
          hint: 'They stay here and are handed over again',
        },
      );
    }
  }
  return gone;
};

const contradicted = (url: string): FleetError =>
  new FleetError(
    'RECEIPT_INVALID',
    `${url} acknowledges other events than were told here, so nothing was let go`,
    {
      hint: 'Tell the platform team: this machine was put back from a copy, or another one has its key',
    },
  );

const readReceipts = (answer: unknown, url: string): readonly Buffer[] => {
  const { receipts } = (answer ?? {}) as Partial<ReportAnswer>;
  if (!Array.isArray(receipts) || receipts.length > MAX_RECEIPTS)
    throw new FleetError('HUB_REFUSED', `${url} answers a report with no list of receipts`);
  // Signed is what lies inside, in base64: writing the wrapping anew changes nothing of it.
  return receipts.map((receipt) => Buffer.from(JSON.stringify(receipt)));
};
