/** Windows has neither flags against links and pipes nor a sync of folders, and its modes name no owner and no rights of others. */
export const IS_WINDOWS = process.platform === 'win32';
