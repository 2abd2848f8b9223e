import { isFleetError } from '#bundles/errors';
import { SUPPORT_PATH, type SupportHandover } from '#bundles/formats/events/hub-api';
import { loadKey } from '../hub/agent-key.ts';
import type { HubClient } from '../hub/hub-client.ts';
import type { Agent } from '../store/agent.ts';
import { answerRequest, noteDelivered } from '../support/answer-request.ts';
import type { SupportSources } from '../support/create-support-bundle.ts';

/** Limit for the answer, which is empty or an error body. */
const MAX_ANSWER_BYTES = 16 << 10;

/**
 * Hands the answer to an open request over to the hub. A lost answer is sent again unchanged, and the hub recognises it; one that the hub
 * refuses for good is not sent again.
 * @throws FleetError HUB_*, CERTIFICATE_INVALID, KEY_MISSING; as answerRequest
 */
export const handOverSupport = async (
  agent: Agent,
  hub: HubClient,
  sources: SupportSources,
): Promise<void> => {
  const answer = await answerRequest(agent, await loadKey(agent), sources);
  if (!answer) return;
  const body: SupportHandover = { bundle: answer.bytes.toString('base64') };
  try {
    await hub.post(SUPPORT_PATH, body, MAX_ANSWER_BYTES, agent.signal);
  } catch (error) {
    if (isFleetError(error) && !error.retryable && error.code !== 'CERTIFICATE_INVALID')
      await noteDelivered(agent, answer);
    throw error;
  }
  await noteDelivered(agent, answer);
};
