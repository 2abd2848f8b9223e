import { toFleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { Agent } from '../store/agent.ts';
import type { Examined } from '../model/target.ts';
import { ageFile, findAgeIdentity } from '../hub/age-identity.ts';
import type { Request } from '../model/request.ts';
import { findOwnEntry } from '../acquire/staleness/find-lease.ts';
import { readSecretSets } from '../store/secret-sets.ts';

type Here = Pick<Agent, 'state' | 'identity'>;

/**
 * Checks that this agent has the identity that its secret sets are sealed for, without opening a set. Otherwise a lost identity
 * would be noticed only at the next boot or the next secret set.
 */
export const examineIdentity = async ({ state, identity }: Here): Promise<Examined> => {
  const { recipient: asked } = JSON.parse(identity.request) as Request;
  const file = ageFile(state.directory);
  const mine = await ownRecipient(state.directory);
  if (mine.error !== undefined) return finding('bad', mine.error);
  if (mine.recipient === undefined && asked !== undefined)
    return finding('bad', `${file} is lost, so no secret can be opened any more; ${ENROLL_AGAIN_HINT}`);
  if (mine.recipient !== asked && asked !== undefined)
    return finding(
      'bad',
      `${file} is another identity than the one asked with, ${asked}; ${ENROLL_AGAIN_HINT}`,
    );
  const sets = readSecretSets(state).map(({ name }) => name);
  if (sets.length === 0) return finding('good', 'no secret sets for this site');
  const own = findOwnEntry({ state, identity });
  if (own?.recipient !== mine.recipient)
    return finding(
      'warning',
      `the site statement has ${own?.recipient ?? 'no recipient'} for this agent, not ${mine.recipient ?? 'its own'}: carry its request to the platform team (fleet-agent enroll)`,
    );
  const { unreadable = [] } = own ?? {};
  return unreadable.length === 0
    ? finding(
        'good',
        `${sets.length === 1 ? '1 secret set' : `${sets.length} secret sets`} for this site, sealed to this agent`,
      )
    : finding(
        'warning',
        `${nameSome(unreadable)}: not sealed to this agent; if it needs them, ask the platform team to seal them to it`,
      );
};

const ENROLL_AGAIN_HINT =
  'restore it from a backup, or run fleet-agent enroll with the same arguments and carry the new request to the platform team';

const finding = (verdict: Examined['verdict'], message: string): Examined => ({
  name: 'secrets',
  verdict,
  message,
});

const ownRecipient = async (
  directory: string,
): Promise<{ readonly recipient?: string | undefined; readonly error?: string }> => {
  try {
    const identity = await findAgeIdentity(directory);
    if (identity === undefined) return {};
    const { recipientOf } = await import('#bundles/trust/age/recipient');
    return { recipient: await recipientOf(identity) };
  } catch (error) {
    const { code, message } = toFleetError(error);
    // For a file that others can read, a backup does not help.
    const todo =
      code === 'PERMISSION' ? 'make it readable for the agent alone, by chmod 600' : ENROLL_AGAIN_HINT;
    return { error: `${ageFile(directory)}: ${message}; ${todo}` };
  }
};
