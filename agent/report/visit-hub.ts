import { FleetError, isFleetError } from '#bundles/errors';
import { PRESENCE_PATH, type PresenceNote } from '#bundles/formats/events/hub-api';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Agent } from '../store/agent.ts';
import { loadKey, loadKeyText } from '../hub/agent-key.ts';
import { findCertificate, isDueForRenewal, type OwnCertificate } from '../hub/certificate.ts';
import { renewCertificate } from '../enroll/renew-certificate.ts';
import type { Request } from '../model/request.ts';
import { handOver } from './hand-over.ts';
import { isLookUnsigned, noteLooked } from './note-looked.ts';
import { openRequest } from '../support/answer-request.ts';
import type { SupportSources } from '../support/create-support-bundle.ts';
import { handOverSupport } from './hand-over-support.ts';
import { outboxSize } from '../store/outbox/outbox.ts';
import { findOwnEntry } from '../acquire/staleness/find-lease.ts';
import { readRoot } from '../store/trust.ts';
import { type HubClient, type HubOptions, openHub } from '../hub/hub-client.ts';
import { formatTime } from '#bundles/time';
import { reportedLooks } from '../observe/reported-looks.ts';

/** Limit for the answer to a presence signal, which is empty or an error body. */
const MAX_PRESENCE_BYTES = 16 << 10;
/** Packages that a presence message names: hubs read at most 4 KiB. */
const MAX_NAMED = 20;

/** Client of one hub for the life of a daemon. Connections stay open while certificate and root do not change. */
export type HubVisitor = AsyncDisposable & {
  /**
   * Renews the certificate if due and uploads waiting events. If the site statement lacks this agent's recipient, sends it once
   * with a renewal.
   * @param present whether to signal presence if there is nothing else to send: by a signed report where the last one is older than
   *   `signLooksMs`, otherwise by an unsigned message @returns whether the hub was contacted
   */
  readonly visit: (how?: { readonly present: boolean }) => Promise<boolean>;
};

/** Time after which an agent without events signs when it last looked, if its configuration does not say another. */
const SIGN_LOOKS_MS = 6 * 3_600_000;

export type VisitorOptions = HubOptions & {
  /** How a support bundle is made, for requests of the office; absent: they wait for another visitor or a medium. */
  readonly support?: SupportSources;
  /** Least time from one report to another of an agent without events; 6 hours if absent. */
  readonly signLooksMs?: number;
};

export const createVisitor = (
  agent: Agent,
  url: string,
  { support, signLooksMs = SIGN_LOOKS_MS, ...options }: VisitorOptions,
): HubVisitor => {
  /** Whether the recipient was sent since the start; sent only once, as each try asks the hub for a certificate. */
  let isRecipientSent = false;
  let open: { readonly client: HubClient; readonly trust: string } | undefined;
  const clientFor = async (root: TrustRoot, certificate: OwnCertificate): Promise<HubClient> => {
    const trust = `${root.digest} ${certificate.pem}`;
    if (open?.trust === trust) return open.client;
    await open?.client[Symbol.asyncDispose]();
    const key = await loadKeyText(agent);
    const credential = { certificate: certificate.pem, key };
    open = { client: openHub(url, { authorities: root.agentCertificates, credential }, options), trust };
    return open.client;
  };
  return {
    visit: async ({ present } = { present: false }) => {
      const root = readRoot(agent.state);
      // Without a root the hub cannot be verified.
      if (!root) return false;
      const certificate = await ownCertificate(agent);
      const now = agent.edge.now();
      const sendsRecipient = !isRecipientSent && isRecipientUnreported(agent);
      const due = isDueForRenewal(certificate, now) || sendsRecipient;
      const isAsked = support !== undefined && openRequest(agent) !== undefined;
      // In place of a presence message, so that the hub gets no more requests.
      if (present && isLookUnsigned(agent, signLooksMs)) noteIfRoom(agent);
      const waiting = outboxSize(agent.state).events > 0;
      if (!due && !waiting && !present && !isAsked) return false;
      const expired = certificate.to <= now;
      let client = await clientFor(root, certificate);
      const renew = async (): Promise<void> => {
        try {
          client = await clientFor(root, await renewCertificate(agent, client, root));
          isRecipientSent = true;
        } catch (error) {
          isRecipientSent ||= !(isFleetError(error) && error.retryable);
          throw error;
        }
      };
      // An expired certificate permits only its renewal; otherwise reports go first.
      if (expired) await renew();
      if (waiting) await handOver(agent, await loadKey(agent), client, root);
      if (due && !expired) await renew();
      if (isAsked) await handOverSupport(agent, client, support);
      if (!due && !waiting && !isAsked) {
        const time = formatTime(agent.edge.now());
        const body: PresenceNote = { time, ...reportedLooks(agent, MAX_NAMED) };
        await client.post(PRESENCE_PATH, body, MAX_PRESENCE_BYTES, agent.signal);
      }
      return true;
    },
    [Symbol.asyncDispose]: async () => {
      await open?.client[Symbol.asyncDispose]();
    },
  };
};

/** A full disk takes no event: then the unsigned message says when the agent looked. */
const noteIfRoom = (agent: Agent): void => {
  try {
    noteLooked(agent);
  } catch (error) {
    if (!isFleetError(error, 'DISK_FULL')) throw error;
  }
};

/** True if the site statement has no recipient, or another one than this agent's. */
const isRecipientUnreported = ({ state, identity }: Agent): boolean => {
  const own = findOwnEntry({ state, identity });
  const { recipient } = JSON.parse(identity.request) as Request;
  return own !== undefined && recipient !== undefined && own.recipient !== recipient;
};

const ownCertificate = async ({ state }: Agent): Promise<OwnCertificate> => {
  const certificate = await findCertificate(state.directory);
  if (certificate) return certificate;
  throw new FleetError(
    'CERTIFICATE_INVALID',
    'this agent has no certificate for the hub, because it was enrolled by medium',
    {
      hint: 'Enrol it again, with the same arguments, --hub and a token',
    },
  );
};
