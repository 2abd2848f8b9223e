import { type Scalar, visit } from 'yaml';
import { FleetError } from '#bundles/errors';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import { placeOf } from '../../model/yaml/parse-documents.ts';

const wordsOf = (value: boolean, words: string): readonly (readonly [string, boolean])[] =>
  words.split(' ').map((word) => [word, value]);

/** Words that are booleans in YAML 1.1 and text in YAML 1.2. */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...wordsOf(true, 'y Y yes Yes YES on On ON'),
  ...wordsOf(false, 'n N no No NO off Off OFF'),
]);

/** Text that may have such a word as a value: looking at each value of each file would take time. */
const MAY_HAVE = new RegExp(`[\\s:,[{-](?:${[...WORDS.keys()].join('|')})\\s*(?:[,\\]}#\\r\\n]|$)`);

/** Advice on the first value of a file that is text here and a boolean to programs that read YAML 1.1. Keys do not count. */
export const findAmbiguous = (objects: readonly KubernetesObject[]): readonly FleetError[] => {
  if (!MAY_HAVE.test(objects[0]?.parsed.text.text ?? '')) return [];
  for (const { kind, name, parsed } of objects) {
    let found: Scalar | undefined;
    visit(parsed.root, {
      Scalar: (key, node) => {
        if (key === 'key' || node.type !== 'PLAIN' || !WORDS.has(node.source ?? '')) return undefined;
        found = node;
        return visit.BREAK;
      },
    });
    const word = found?.source ?? '';
    if (found)
      return [
        new FleetError(
          'VALUE_AMBIGUOUS',
          `${word} without quotes is text here and to Kustomize, and ${WORDS.get(word)} to kubectl and Helm`,
          {
            subject: `${kind} ${name}`,
            at: placeOf(parsed.text, found, parsed.root),
            hint: `Write "${word}" if it is text, else ${WORDS.get(word)}`,
          },
        ),
      ];
  }
  return [];
};
