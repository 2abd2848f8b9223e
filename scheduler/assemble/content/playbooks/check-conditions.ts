import { isScalar, isSeq, LineCounter, parseAllDocuments, type Scalar, visit } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';

/** Keywords of a task whose values are conditions (Ansible's "Playbook Keywords"), and `that` of the module assert. */
const CONDITIONS: ReadonlySet<unknown> = new Set(['when', 'failed_when', 'changed_when', 'until', 'that']);

export type ConditionFile = {
  /** Its path, for messages; a text in another file has the place `at`. */
  readonly file: string;
  readonly text: string;
  readonly at?: Place;
};

/**
 * Refuses a condition that asks for the truth of a text, which Ansible answers in two ways: up to 2.18 any text but the empty one is
 * true, 'no' too; from 2.19 on the task fails. Only what is certain is refused: the condition, or a part of it between `and` and `or`, is the
 * name of a variable whose value is a text. A file that is not YAML is Ansible's to refuse.
 * @param texts names of variables that have a text: 'line', 'platform_config.ZONE'
 * @throws FleetError FIELD_INVALID with the place of the condition
 */
export const checkConditions = (files: readonly ConditionFile[], texts: ReadonlySet<string>): void => {
  if (texts.size === 0) return;
  for (const file of files) for (const scalar of conditionsOf(file)) refuseTexts(file, scalar, texts);
};

type Condition = { readonly value: Scalar; readonly place: Place };

const conditionsOf = ({ file, text, at }: ConditionFile): readonly Condition[] => {
  const lineCounter = new LineCounter();
  const found: Condition[] = [];
  const add = (value: unknown): void => {
    if (isSeq(value)) for (const item of value.items) add(item);
    if (!isScalar(value)) return;
    const { line, col } = lineCounter.linePos(value.range?.[0] ?? 0);
    found.push({ value, place: at ?? { file, line, column: col } });
  };
  for (const document of parseAllDocuments(text, { lineCounter, logLevel: 'silent' })) {
    if (document.errors.length > 0) return [];
    visit(document, {
      Pair: (_, { key, value }) => {
        if (isScalar(key) && CONDITIONS.has(key.value)) add(value);
      },
    });
  }
  return found;
};

const refuseTexts = (
  { file }: ConditionFile,
  { value: { value }, place }: Condition,
  texts: ReadonlySet<string>,
): void => {
  if (typeof value !== 'string') return;
  const name = partsOf(value).find((part) => texts.has(part));
  if (name === undefined) return;
  throw new FleetError(
    'FIELD_INVALID',
    `a condition in ${file} asks whether ${name} is true, which is a text: ansible-core up to 2.18 takes any text but the empty one for true, 'no' too, and from 2.19 on the task fails`,
    { at: place, hint: `Write what is meant: ${name} | bool, ${name} | length > 0 or ${name} == 'yes'` },
  );
};

/** The parts of an expression between `and` and `or`, as far as no quote or bracket makes that uncertain. */
const partsOf = (expression: string): readonly string[] =>
  /['"([{]/.test(expression)
    ? [expression.trim()]
    : expression.split(/\s+(?:and|or)\s+/).map((part) => part.trim());
