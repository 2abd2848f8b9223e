import type { Application } from '../../load/applications/application.ts';
import type { RenderedPackage } from '../../model/model.ts';
import { type HostPackageObject, readHostPackages } from './host-package-object.ts';

/** Every HostPackage of a package, from the platform's templates and from the application. */
export type HostPackages = {
  readonly all: readonly HostPackageObject[];
  readonly own: readonly HostPackageObject[];
  readonly platform: readonly HostPackageObject[];
};

/** @throws FleetError YAML_SYNTAX, FIELD_INVALID ... with file:line:column */
export const hostPackagesOf = (rendered: RenderedPackage, application: Application): HostPackages => {
  const own = [...application.files]
    .filter(([path]) => /\.ya?ml$/.test(path))
    .flatMap(([path, bytes]) => readHostPackages(`${application.shown}${path}`, bytes));
  const platform = rendered.files
    .filter(({ path }) => path === 'namespace.yaml' || path === 'reconciler.yaml')
    .flatMap(({ path, text }) =>
      readHostPackages(`${rendered.assignment.target.name}/${path}`, Buffer.from(text)),
    );
  return { all: [...platform, ...own], own, platform };
};
