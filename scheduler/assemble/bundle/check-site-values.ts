import { allowsName } from '#bundles/formats/bounds/package-bounds';
import { FleetError, type Place } from '#bundles/errors';
import type { DeploymentTarget } from '../../model/model.ts';
import { throwProblems } from '../../model/problems.ts';
import type { SiteInputAbout } from '../../model/site-input.ts';

/**
 * Checks the site values that an application asks for against the grants of its workspace. Without Workspace objects refuseReaders
 * decides, which sees all packages.
 * @throws FleetError OUT_OF_BOUNDS with the place of the input
 */
export const checkSiteValues = (
  inputs: readonly (Pick<SiteInputAbout, 'name'> & { readonly at: Place })[],
  { name: subject, siteValues, workspace }: DeploymentTarget,
): void => {
  if (siteValues === undefined) return;
  const foreign = inputs.filter(({ name }) => !allowsName(siteValues, name));
  throwProblems(
    foreign.map(
      ({ name, at }) =>
        new FleetError('OUT_OF_BOUNDS', `its workspace may not read the site value ${name}`, {
          subject,
          at,
          hint:
            workspace === ''
              ? `Give its WorkloadRegistration a workspace that grants spec: {siteValues: [${name}]}`
              : `Let the platform grant it in the Workspace ${workspace}: spec: {siteValues: [${name}]}`,
        }),
    ),
    `package ${subject}`,
  );
};
