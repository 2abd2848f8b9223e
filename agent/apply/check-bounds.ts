import type { Bounds } from '#bundles/formats/bounds/bounds-of';
import { hostViolations } from '#bundles/formats/bounds/host-violations';
import { foreignSets } from '#bundles/formats/bounds/package-bounds';
import { coversPath } from '#bundles/formats/bounds/reserved-paths';
import { inputViolations } from '#bundles/formats/site-values/input-violations';
import type { BundleKind } from '#bundles/names';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { setsUsed } from '../secrets/sets-used.ts';
import type { DesiredPackage } from '../model/target.ts';

/**
 * Checks a package against its bounds. The scheduler makes the same check before it signs; this one covers a scheduler that
 * was deceived or is out of date.
 * @param state the agent's state directory, which no package may write to
 * @throws FleetError OUT_OF_BOUNDS, or the error of reading the package
 */
export const checkBounds = (
  { assignment, files, bounds = 'platform', siteInputs }: DesiredPackage,
  kind: BundleKind,
  state: string,
): void => {
  const fields = siteInputs.filter((one) => one.assignment === assignment);
  const found = [
    ...(kind === 'host' ? ofHost(files, bounds, state) : ofCluster(files, bounds)),
    ...inputViolations(kind, bounds, fields),
  ];
  if (found.length === 0) return;
  throw new FleetError(
    'OUT_OF_BOUNDS',
    `${assignment} names items that its workspace does not permit: ${nameSome(found, MAX_NAMED)}`,
    {
      subject: assignment,
      hint: 'Tell the platform team: the package has to change, or its Workspace has to grant it; nothing was written',
    },
  );
};

const MAX_NAMED = 5;

const ofHost = (files: DesiredPackage['files'], bounds: Bounds, state: string): readonly string[] => {
  const document = files.get('package.json');
  if (!document) return [];
  const spec = parseHostPackage(document);
  const found = hostViolations(spec, bounds, (file) =>
    'content' in file ? files.get(file.content) : undefined,
  ).map(({ message }) => message);
  const inState = [...spec.directories, ...spec.files, ...(spec.secrets ?? [])].filter(({ path }) =>
    coversPath(state, path),
  );
  return [...found, ...inState.map(({ path }) => `${path} belongs to the agent itself`)];
};

const ofCluster = (files: DesiredPackage['files'], bounds: Bounds): readonly string[] => {
  if (typeof bounds === 'string') return [];
  const used = setsUsed('kubernetes', files);
  // Unreadable manifests make the plan fail, before anything is written.
  if (used === 'all') return [];
  return foreignSets(bounds, used).map(
    (name) => `the secret set ${JSON.stringify(name)} is not one of its own`,
  );
};
