import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { toFleetError } from '#bundles/errors';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { promotedTo } from '../../load/releases/audit-log.ts';
import type { Configuration } from '../../settings/configuration.ts';
import { askCheck, type AskOutcome } from '../promote/checks/ask-check.ts';
import { type GivenAnswer, readAnswer } from '../promote/checks/check-answer.ts';
import {
  type CheckAbout,
  checkId,
  claimQuestions,
  findQuestion,
  recordAnswer,
  recordOutcome,
} from '../promote/checks/check-records.ts';
import { describeQuestion } from '../promote/checks/describe-question.ts';
import type { Decided } from '../promote/gate/assess.ts';
import type { GateHub } from '../promote/gate/gate-hub.ts';
import type { Store } from '../store/open-store.ts';
import { faultFields } from '../watch/fault-fields.ts';
import { readWebhookSecret } from '../webhook/read-webhook-secret.ts';

export type AskerOptions = {
  readonly configuration: Configuration;
  readonly env: NodeJS.ProcessEnv;
  readonly store: Store;
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly random: () => number;
  /** Called when a check answered, or could not be asked. */
  readonly onNews: () => void;
};

/** Asks the checks of policies. Disposal aborts requests under way and waits for them. */
export type CheckAsker = AsyncDisposable & {
  /** Sends the questions about a candidate that are due. Returns when they are stored: a slow check delays no other link. */
  readonly ask: (hub: GateHub, decided: Decided) => Promise<void>;
};

export const createCheckAsker = (options: AskerOptions): CheckAsker => {
  const { configuration, env, store, clock, log, random, onNews } = options;
  const { checkSecretFile, plainHttp } = configuration;
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  let opened: Dispatcher | undefined;

  const send = async (about: CheckAbout, decided: Decided, layout: Layout): Promise<AskOutcome> => {
    if (checkSecretFile === undefined)
      return { kind: 'unreachable', message: 'serve has no checkSecretFile, so it cannot sign the question' };
    const secret = await readWebhookSecret(checkSecretFile);
    const body = describeQuestion(about, await readAsked(decided, layout, stop.signal), clock());
    opened ??= openConnections(registryOptions({ ...configuration, env }));
    const question = { id: checkId(about), url: about.check.url, shared: about.shared, body };
    return await askCheck(question, { connections: opened, secret, plainHttp, clock, signal: stop.signal });
  };

  const one = async (about: CheckAbout, decided: Decided, layout: Layout): Promise<void> => {
    const what = { check: about.check.name, from: about.from, to: about.to };
    try {
      const outcome = await send(about, decided, layout).catch(unsent);
      if (stop.signal.aborted) return;
      await recordOutcome(store, about, outcome, clock());
      log.info({ ...what, ...outcomeFields(outcome) }, 'check asked');
      onNews();
    } catch (error) {
      if (stop.signal.aborted) return;
      log.error(
        { ...what, ...faultFields(toFleetError(error, `asking ${about.check.name}`)) },
        'check not asked',
      );
    }
  };

  return {
    ask: async (hub, decided) => {
      const { link, candidate } = decided;
      const { fleet } = hub.keys.root;
      const wanted = (link.policy?.checks ?? []).map(
        (check): CheckAbout => ({ fleet, from: link.from, to: link.to, shared: candidate.shared, check }),
      );
      const claimed = await claimQuestions(store, wanted, { now: clock(), random });
      if (claimed.length === 0) return;
      const layout = await openOrStartLayout(hub.layout);
      for (const about of claimed) {
        const task = one(about, decided, layout).finally(() => running.delete(task));
        running.add(task);
      }
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(running);
      await opened?.close();
    },
  };
};

/** A secret or a candidate that cannot be read is shown where people look for the check. */
const unsent = (error: unknown): AskOutcome => ({
  kind: 'unreachable',
  message: toFleetError(error, 'asking').message,
});

const outcomeFields = (outcome: AskOutcome): object => {
  switch (outcome.kind) {
    case 'accepted':
      return { outcome: 'accepted' };
    case 'answered':
      return { outcome: outcome.answer.result };
    case 'unreachable':
    case 'invalid':
      return { outcome: outcome.kind, why: outcome.message };
  }
};

const readAsked = async (
  { candidate: { candidate }, log, link }: Decided,
  layout: Layout,
  signal: AbortSignal,
): Promise<Parameters<typeof describeQuestion>[1]> => {
  const { document } = await readCandidate(candidate, [layout.blobs], signal);
  const promoted = promotedTo(log, link.to)?.candidate;
  const before = promoted && (await readCandidate(promoted, [layout.blobs], signal));
  return { candidate, document, previous: before && { candidate: before.digest, document: before.document } };
};

/**
 * Takes an answer that a check sends later.
 * @throws FleetError TOKEN_INVALID for the signature; CHECK_REFUSED for another candidate, an unknown question, or an answer that
 *   comes too late or is older than the one that counts; TOO_LARGE, BAD_JSON, CONFIG_INVALID
 */
export const takeAnswer = async (
  {
    store,
    secretFile,
    clock,
    log,
  }: Pick<AskerOptions, 'store' | 'clock' | 'log'> & {
    readonly secretFile: string;
  },
  id: string,
  answer: GivenAnswer,
): Promise<void> => {
  const secret = await readWebhookSecret(secretFile);
  const now = clock();
  const { shared } = await findQuestion(store.db, id).catch((error: unknown) => {
    // Refused without a valid signature, so that the ids of questions are not revealed.
    readAnswer(secret, answer, { id, shared: 'sha256:', now });
    throw error;
  });
  const said = readAnswer(secret, answer, { id, shared, now });
  await recordAnswer(store, id, said, now);
  log.info({ check: id, outcome: said.result }, 'check answered');
};
