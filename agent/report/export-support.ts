import { supportPath } from '#bundles/trust/reports/find-support';
import type { SigningKey } from '#bundles/trust/keys/key';
import { writeOntoMedium } from '../acquire/blobs/write-onto-medium.ts';
import type { Agent } from '../store/agent.ts';
import { fullName } from '../store/identity.ts';
import { answerRequest } from '../support/answer-request.ts';
import type { SupportSources } from '../support/create-support-bundle.ts';

/**
 * Writes the answer to an open request for a support bundle beside the reports of this agent. Repeated exports write the same file.
 * @returns its path on the medium; undefined without a request
 * @throws FleetError as answerRequest and writeOntoMedium
 */
export const exportSupport = async (
  agent: Agent,
  key: SigningKey,
  path: string,
  sources: SupportSources,
): Promise<string | undefined> => {
  const answer = await answerRequest(agent, key, sources);
  if (!answer) return undefined;
  const file = supportPath(fullName(agent.identity), answer.request);
  await writeOntoMedium(path, file, answer.bytes);
  return file;
};
