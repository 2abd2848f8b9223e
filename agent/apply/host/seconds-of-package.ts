import { basename } from 'node:path/posix';
import { packageSpans, secondsOf } from '#bundles/formats/bounds/package-seconds';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import type { DesiredPackage } from '../../model/target.ts';

/** Time to write a system image into its slot. Quick packages go first, so other packages are applied before the reboot. */
const SYSTEM_SECONDS = 3600;

/** The longest time that a package may take by its own timeouts, in seconds; Infinity without an end. @throws FleetError BUNDLE_FORMAT */
export const secondsOfPackage = ({ files }: DesiredPackage): number => {
  const spec = parseHostPackage(files.get('package.json') ?? Buffer.alloc(0));
  const system = spec.rauc ? SYSTEM_SECONDS : 0;
  return (
    system +
    secondsOf(
      packageSpans(spec, (unit) => {
        const file = spec.files.find(({ path }) => basename(path) === unit);
        return file && 'content' in file ? files.get(file.content) : undefined;
      }),
    )
  );
};
