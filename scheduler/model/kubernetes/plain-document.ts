import { isScalar, type Node, visit } from 'yaml';
import { FleetError } from '#bundles/errors';
import { badMerges, mergeKeys } from '../yaml/merge-keys.ts';
import { type ParsedDocument, placeOf } from '../yaml/parse-documents.ts';
import { sopsMac } from './sops-mac.ts';

/** Numbers that may take more than 64 bits, or that JSON lacks, and merge keys; most files have none. */
const NEEDS_FULL_PARSER = /[\da-fA-F_]{16}|\.(?:inf|nan)\b|<</i;

/**
 * A document of a manifest as every reader of Kubernetes objects understands it: merge keys are resolved, as Kustomize does, and numbers
 * that would not arrive at the API server as written are refused. Modifies the document. Mistakes are added to `problems` as
 * YAML_SYNTAX and OBJECT_INVALID.
 */
export const plainDocument = (parsed: ParsedDocument, problems: FleetError[]): readonly ParsedDocument[] => {
  const { root, document, text } = parsed;
  // Encrypted documents must stay byte for byte.
  if (!NEEDS_FULL_PARSER.test(text.text) || sopsMac({ parsed }) !== undefined) return [parsed];
  const refuse = (code: 'YAML_SYNTAX' | 'OBJECT_INVALID', node: Node, message: string, hint?: string) =>
    new FleetError(code, message, { at: placeOf(text, node, root), hint: hint || undefined });
  const found = [
    ...badMerges(root, document).map((node) =>
      refuse(
        'YAML_SYNTAX',
        node,
        'a merge key (<<) needs a mapping, or a list of mappings',
        'Write "<<": in quotes if the field has that name',
      ),
    ),
    ...wrongNumbers(root).map(({ node, says, hint }) => refuse('OBJECT_INVALID', node, says, hint)),
  ];
  if (found.length === 0 && !mergeKeys(root, document))
    found.push(refuse('YAML_SYNTAX', root, 'the merges (<<) of this YAML add too much to be read'));
  problems.push(...found);
  return found.length === 0 ? [parsed] : [];
};

type WrongNumber = { readonly node: Node; readonly says: string; readonly hint: string };

const MAX_INT64 = 2n ** 63n - 1n;

const wrongNumbers = (root: Node): readonly WrongNumber[] => {
  const found: WrongNumber[] = [];
  visit(root, {
    Scalar: (_, node) => {
      const says = isScalar(node) ? wrongNumber(node.value, node.source ?? '') : undefined;
      if (says !== undefined)
        found.push({
          node,
          says,
          hint: 'Put it in quotes if the field takes text; else write another number',
        });
    },
  });
  return found;
};

/** The API server keeps whole numbers in 64 bits with sign, and all others as doubles. */
const wrongNumber = (value: unknown, source: string): string | undefined => {
  if (typeof value === 'number' && !Number.isFinite(value)) return `${source} is a number that JSON lacks`;
  const isTooLong =
    (typeof value === 'bigint' && value > MAX_INT64) ||
    (typeof value === 'number' && /^[-+]?[\d_]+$/.test(source) && Math.abs(value) >= 2 ** 63);
  return isTooLong ? `${source} does not fit into 64 bits, and the API server would round it` : undefined;
};
