import { agentFolder, type OpenMedium, REPORTS_FOLDER } from '../../formats/medium/medium.ts';

/** A support bundle on a medium, unread. */
export type FoundSupport = {
  readonly path: string;
  /** The folder of the agent that it claims to be from: agentFolder('<site>/<agent>'). */
  readonly folder: string;
};

const BUNDLE = new RegExp(`^${REPORTS_FOLDER}/([0-9a-f]{32})/support-[a-z0-9-]{1,60}\\.tar$`);

/** Path of a support bundle on a medium. @param name the request that it answers, or the time at which it was made */
export const supportPath = (agent: string, name: string): string =>
  `${REPORTS_FOLDER}/${agentFolder(agent)}/support-${name}.tar`;

/** All of fleet/reports/<id>/support-<name>.tar (docs/bundle-format.md section 19), sorted by path. Ignores other files, and limits no number: what reads their content does. */
export const findSupport = async (medium: OpenMedium): Promise<readonly FoundSupport[]> => {
  const files = await medium.files(REPORTS_FOLDER);
  return files.flatMap((path) => {
    const folder = BUNDLE.exec(path)?.[1];
    return folder === undefined ? [] : { path, folder };
  });
};
