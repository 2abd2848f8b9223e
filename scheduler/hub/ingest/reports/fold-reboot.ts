import type { Event } from '#bundles/formats/events/event';
import { plainText } from '#bundles/errors';
import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { isTime } from '#bundles/time';
import type { RebootState } from '../../store/reboot-state.ts';
import type { AgentRow } from '../../store/tables.ts';

type RebootColumns = Pick<AgentRow, 'reboot_seq' | 'reboot'>;

const NOTHING: RebootState = { required: null, services: [], last: null };

/** Agents write what they like into an event: each text is cut to this. */
const MAX_TEXT = 300;
const MAX_SERVICES = 20;

/**
 * Applies the `reboot` events of a report to an agent, those after the newest that was applied, in their order.
 * @param lineOf the signed line of an event, which has the detail @returns undefined: nothing newer
 */
export const foldReboot = (
  agent: Pick<AgentRow, 'reboot_seq' | 'reboot'>,
  events: readonly Event[],
  lineOf: (event: Event) => string,
): RebootColumns | undefined => {
  const newer = events.filter(({ type, seq }) => type === 'reboot' && seq > agent.reboot_seq);
  const last = newer.at(-1);
  if (!last) return undefined;
  const before = agent.reboot === null ? NOTHING : (parseJson(agent.reboot) as RebootState);
  const after = newer.reduce((state, event) => fold(state, event, detailOf(lineOf(event))), before);
  const isNothing = after.required === null && after.services.length === 0 && after.last === null;
  return { reboot_seq: last.seq, reboot: isNothing ? null : canonicalJson(after) };
};

type Detail = Readonly<Record<string, unknown>>;

const fold = (state: RebootState, { at, message }: Event, detail: Detail): RebootState => {
  switch (detail['state']) {
    case 'required': {
      const since = isTime(detail['since']) && detail['since'] < at ? detail['since'] : at;
      const causes = texts(messagesOf(detail['causes']), MAX_SERVICES).join('; ').slice(0, MAX_TEXT);
      const waits = typeof detail['waits'] === 'string' ? cut(detail['waits']) : null;
      return {
        ...state,
        required: { since, causes: causes === '' ? cut(message ?? '') : causes, waits },
        services: texts(detail['services'], MAX_SERVICES),
      };
    }
    case 'none':
      return { ...state, required: null, services: texts(detail['services'], MAX_SERVICES) };
    case 'rebooted':
      return { ...state, last: { at, unwell: texts(detail['unwell'], MAX_SERVICES) } };
    default:
      return state;
  }
};

const cut = (text: string): string => plainText(text).replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TEXT);

const messagesOf = (causes: unknown): unknown =>
  Array.isArray(causes) ? causes.map((cause: unknown) => (cause as Detail | null)?.['message']) : [];

const texts = (value: unknown, most: number): readonly string[] =>
  Array.isArray(value)
    ? value.flatMap((one: unknown) => (typeof one === 'string' ? cut(one) : [])).slice(0, most)
    : [];

/** The detail of an event has no fixed schema. */
const detailOf = (line: string): Detail => (parseJson(line) as { readonly detail?: Detail }).detail ?? {};
