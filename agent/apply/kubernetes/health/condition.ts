import { cutText } from '#cli/cut-text';
import { listOf, numberOf, textOf } from './live-field.ts';

/** One of `status.conditions`. */
export type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** The generation that the condition is about, if its controller sets it. */
  readonly observedGeneration: number | undefined;
  readonly raw: unknown;
};

export const conditionOf = (object: unknown, type: string): Condition | undefined => {
  const raw = listOf(object, 'status', 'conditions').find((one) => textOf(one, 'type') === type);
  return raw === undefined ? undefined : toCondition(raw);
};

/** undefined for a condition without type. */
export const toCondition = (raw: unknown): Condition | undefined => {
  const type = textOf(raw, 'type');
  if (type === undefined) return undefined;
  return {
    type,
    status: textOf(raw, 'status') ?? 'Unknown',
    reason: textOf(raw, 'reason') ?? '',
    message: textOf(raw, 'message') ?? '',
    observedGeneration: numberOf(raw, 'observedGeneration'),
    raw,
  };
};

/** Reason and message, 'FailedGetScale: the server could not find it'; `otherwise` if both are empty. */
export const formatCause = (
  { reason, message }: Pick<Condition, 'reason' | 'message'>,
  otherwise: string,
): string => oneLine([reason, message].filter(Boolean).join(': ') || otherwise);

/** Shortens the text of a controller to one line. */
const MAX_CHARACTERS = 300;

export const oneLine = (text: string, most: number = MAX_CHARACTERS): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > most ? `${cutText(line, most)} ...` : line;
};
