/** Source role of an environment's own files: its folder, or its branch. */
export const layerRole = (environment: string): string => `environment/${environment}`;
