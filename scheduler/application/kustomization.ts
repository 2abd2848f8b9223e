import { isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import { FleetError } from '#bundles/errors';
import { isRemote } from '../platform/sources/kustomization-file.ts';

/** Fields that may name folders, which are kustomizations of their own. */
const FOLDER_FIELDS = [
  'resources',
  'bases',
  'components',
  'generators',
  'transformers',
  'validators',
] as const;

/** Fields that make Kustomize load or run something besides files. */
const REFUSED_FIELDS = ['helmCharts', 'helmChartInflationGenerator', 'helmGlobals'] as const;

/** What a kustomization only lists is taken as it lies, without the tool. */
const LISTING_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'resources']);

export type Kustomization = {
  /** Of the repository: 'overlays/prod/kustomization.yaml'. */
  readonly file: string;
  /** As written: files, folders, or texts with an object in them. */
  readonly entries: readonly string[];
  /** Nothing but a list of resources. */
  readonly listing: boolean;
};

/**
 * What a kustomization names, and nothing that lies elsewhere: what comes over the network may be something else tomorrow.
 * @param shown how messages name the file @throws FleetError YAML_SYNTAX, OBJECT_INVALID, FIELD_INVALID
 */
export const readKustomization = (file: string, shown: string, bytes: Buffer): Kustomization => {
  const document = parseDocument(bytes.toString('utf8'), { prettyErrors: false });
  const [mistake] = document.errors;
  if (mistake)
    throw new FleetError('YAML_SYNTAX', `this is not YAML: ${mistake.message}`, { at: { file: shown } });
  const { contents } = document;
  if (!isMap(contents))
    throw new FleetError('OBJECT_INVALID', 'this is no kustomization', { at: { file: shown } });
  for (const field of REFUSED_FIELDS) {
    if (contents.has(field))
      throw new FleetError('FIELD_INVALID', `${field} is not taken: it would fetch a chart`, {
        at: { file: shown },
        hint: 'Make the chart a deployment target of its own, of type helm',
      });
  }
  refuseUrls(document, shown);
  const entries = FOLDER_FIELDS.flatMap((field) => {
    const list = contents.get(field);
    return isSeq(list) ? list.items.flatMap((item) => (isScalar(item) ? String(item.value) : [])) : [];
  });
  const keys = contents.items.map(({ key }) => (isScalar(key) ? String(key.value) : ''));
  return { file, entries, listing: keys.every((key) => LISTING_FIELDS.has(key)) };
};

/** Fields whose values are no files: an address among them is a value like any other. */
const VALUES: ReadonlySet<string> = new Set([
  'literals',
  'patch',
  'commonAnnotations',
  'commonLabels',
  'metadata',
  'images',
  'options',
]);

const refuseUrls = (document: ReturnType<typeof parseDocument>, shown: string): void => {
  visit(document, {
    Pair: (_, pair) => (isScalar(pair.key) && VALUES.has(String(pair.key.value)) ? visit.SKIP : undefined),
    Scalar: (_, node) => {
      if (typeof node.value !== 'string' || !isRemote(node.value)) return;
      throw new FleetError('FIELD_INVALID', `${node.value} lies outside of the repository`, {
        at: { file: shown },
        hint: 'Copy it into the repository: what is fetched while rendering is pinned by nobody',
      });
    },
  });
};
