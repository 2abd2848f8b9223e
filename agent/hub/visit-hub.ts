import { FleetError, isFleetError } from '#bundles/errors';
import { PRESENCE_PATH } from '#bundles/hub/hub-api';
import type { TrustRoot } from '#bundles/trust/root';
import type { Agent } from '../agent.ts';
import { loadKey, loadKeyText } from '../enroll/agent-key.ts';
import { findCertificate, isDueForRenewal, type OwnCertificate } from '../enroll/certificate.ts';
import { renewCertificate } from '../enroll/renew-certificate.ts';
import type { Request } from '../enroll/request.ts';
import { handOver } from '../report/hand-over.ts';
import { outboxSize } from '../report/outbox.ts';
import { findOwnEntry } from '../staleness/find-lease.ts';
import { readRoot } from '../store/trust.ts';
import { type HubClient, type HubOptions, openHub } from './hub-client.ts';

/** Of an answer that has no content; of a refusal, its words. */
const MAX_PRESENCE_BYTES = 16 << 10;

/** One hub over a daemon's life: its connections stay open as long as certificate and root stay the same. */
export type HubVisitor = AsyncDisposable & {
  /**
   * Renews what is due, hands over what waits. What secrets are to be sealed to, where the order does not have it, is told once.
   * @param present says that this agent is there, if there is nothing else to say @returns whether the hub was asked anything
   */
  readonly visit: (how?: { readonly present: boolean }) => Promise<boolean>;
};

export const makeVisitor = (agent: Agent, url: string, options: HubOptions): HubVisitor => {
  /** Asked for once a start at most: a hub that does not take it must not be asked for certificates all day. */
  let told = false;
  let open: { readonly client: HubClient; readonly trust: string } | undefined;
  const clientFor = async (root: TrustRoot, certificate: OwnCertificate): Promise<HubClient> => {
    const trust = `${root.digest} ${certificate.pem}`;
    if (open?.trust === trust) return open.client;
    await open?.client[Symbol.asyncDispose]();
    const key = await loadKeyText(agent.state.directory);
    const credential = { certificate: certificate.pem, key };
    open = { client: openHub(url, { authorities: root.agentCertificates, credential }, options), trust };
    return open.client;
  };
  return {
    visit: async ({ present } = { present: false }) => {
      const root = readRoot(agent.state);
      // Before the first site statement nobody would believe us.
      if (!root) return false;
      const certificate = await ownCertificate(agent);
      const now = agent.edge.now();
      const tells = !told && isRecipientUntold(agent);
      const due = isDueForRenewal(certificate, now) || tells;
      const waiting = outboxSize(agent.state).events > 0;
      if (!due && !waiting && !present) return false;
      const expired = certificate.to <= now;
      let client = await clientFor(root, certificate);
      const renew = async (): Promise<void> => {
        try {
          client = await clientFor(root, await renewCertificate(agent, client, root));
          told = true;
        } catch (error) {
          told ||= !(isFleetError(error) && error.retryable);
          throw error;
        }
      };
      // An expired one is good for nothing but its renewal; else reports go first.
      if (expired) await renew();
      if (waiting) await handOver(agent, await loadKey(agent.state.directory), client, root);
      if (due && !expired) await renew();
      if (!due && !waiting) await client.post(PRESENCE_PATH, {}, MAX_PRESENCE_BYTES, agent.signal);
      return true;
    },
    [Symbol.asyncDispose]: async () => {
      await open?.client[Symbol.asyncDispose]();
    },
  };
};

/** Enrolled before it had an age identity, or with another one: its recipient goes with the certificate's renewal. */
const isRecipientUntold = ({ state, identity }: Agent): boolean => {
  const own = findOwnEntry({ state, identity });
  const { recipient } = JSON.parse(identity.request) as Request;
  return own !== undefined && recipient !== undefined && own.recipient !== recipient;
};

const ownCertificate = async ({ state }: Agent): Promise<OwnCertificate> => {
  const certificate = await findCertificate(state.directory);
  if (certificate) return certificate;
  throw new FleetError(
    'CERTIFICATE_INVALID',
    'this agent has no certificate for the hub, as it was enrolled by stick',
    {
      hint: 'Enrol it once more, with the same words, --hub and a token',
    },
  );
};
