import { type Scalar, visit } from 'yaml';
import { FleetError } from '#bundles/errors';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import { placeOf } from '../../model/yaml/parse-documents.ts';
import { typePlain } from '../../model/yaml/yaml-1-1-value.ts';

/** Text that may have such a word as a value: looking at each value of each file would take time. */
const MAY_HAVE = /[\s:,[{-](?:y|yes|no?|on|off)\s*(?:[,\]}#\r\n]|$)/i;

/** A boolean in YAML 1.1 that is text in YAML 1.2. */
const readByOthers = ({ type, source = '' }: Scalar): boolean | undefined => {
  if (type !== 'PLAIN' || /^(?:true|false)$/i.test(source)) return undefined;
  const value = typePlain(source);
  return typeof value === 'boolean' ? value : undefined;
};

/** Advice on the first value of a file that is text here and a boolean to programs that read YAML 1.1. Keys do not count. */
export const findAmbiguous = (objects: readonly KubernetesObject[]): readonly FleetError[] => {
  if (!MAY_HAVE.test(objects[0]?.parsed.text.text ?? '')) return [];
  for (const { kind, name, parsed } of objects) {
    let found: Scalar | undefined;
    visit(parsed.root, {
      Scalar: (key, node) => {
        if (key === 'key' || readByOthers(node) === undefined) return undefined;
        found = node;
        return visit.BREAK;
      },
    });
    if (!found) continue;
    const { source } = found;
    const other = readByOthers(found);
    return [
      new FleetError(
        'VALUE_AMBIGUOUS',
        `${source} without quotes is text here and to Kustomize, and ${other} to kubectl and Helm`,
        {
          subject: `${kind} ${name}`,
          at: placeOf(parsed.text, found, parsed.root),
          hint: `Write "${source}" if it is text, else ${other}`,
        },
      ),
    ];
  }
  return [];
};
