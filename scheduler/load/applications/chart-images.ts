import { isScalar } from 'yaml';
import type { FleetError, Place } from '#bundles/errors';
import { isImageReference } from '../../model/images/image-reference.ts';
import { parseDocuments, placeOf } from '../../model/yaml/parse-documents.ts';

/** Artifact Hub, "Artifact Hub annotations in Helm Chart.yaml file": a YAML list, as text. */
const ANNOTATION = 'artifacthub.io/images';

/**
 * The images that a chart declares. Operators start some of them that no rendered object names. Invalid entries are skipped:
 * the annotation is meant for a web page, and a user of the chart cannot correct it. @param shown name of the Chart.yaml in
 * messages
 */
export const chartImages = (
  shown: string,
  chart: Buffer,
): readonly { readonly image: string; readonly at: Place }[] => {
  const problems: FleetError[] = [];
  const [parsed] = parseDocuments(shown, chart, problems);
  const node = parsed?.document.getIn(['annotations', ANNOTATION], true);
  if (!parsed || !isScalar(node) || typeof node.value !== 'string') return [];
  const at = placeOf(parsed.text, node, parsed.root);
  const [list] = parseDocuments(shown, Buffer.from(`images:\n${indented(node.value)}`), problems);
  const images: unknown = list?.document.toJS({ maxAliasCount: 100 });
  const entries = (images as { images?: unknown } | undefined)?.images;
  return (Array.isArray(entries) ? entries : [])
    .map((entry: { image?: unknown } | null) => entry?.image)
    .filter((image) => typeof image === 'string' && isImageReference(image))
    .map((image) => ({ image: image as string, at }));
};

const indented = (text: string): string => text.replace(/^/gm, ' ');
