import { defined } from '#bundles/defined';
import { LOCAL_VALUE } from '#bundles/formats/events/local-value';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { cutText } from '#cli/cut-text';
import type { Agent } from '../../store/agent.ts';
import { deleteLocalValue, idOf, readLocalValues } from '../../store/local-values.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { answerTo } from './local-values.ts';

/**
 * Ends the local values that the office has accepted or refused, with an event for each. Must run inside the accepting transaction. The packages that
 * it orders were determined without these values.
 */
export const endAnswered = (agent: Agent, document: SiteValues): void => {
  const { state, identity } = agent;
  for (const local of readLocalValues(state)) {
    const answer = answerTo(document, identity.agent, local);
    if (!answer) continue;
    const { name, value } = local.edit;
    const { outcome, person, reason } = answer;
    deleteLocalValue(state, name);
    const by = [person, reason].filter((part) => part !== undefined).join(': ');
    appendEvent(agent, {
      type: LOCAL_VALUE,
      message: `the office ${outcome} the local value ${name} ${cutText(value, 256)}${by === '' ? '' : `, by ${by}`}`,
      detail: defined({ action: outcome, name, edit: idOf(local), person, reason }),
    });
  }
};
