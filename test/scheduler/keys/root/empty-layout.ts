import { openOrStartLayout, writeLayoutIndex } from '#bundles/formats/layout/layout';

/** Makes a layout without releases. @returns its folder */
export const emptyLayout = async (folder: string): Promise<string> => {
  await writeLayoutIndex(await openOrStartLayout(folder), []);
  return folder;
};
