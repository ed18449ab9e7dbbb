; The installer for Windows: build-installer calls makensis with this file. Not verified on Windows:
; it compiles, and what it would install was only read.
;
; Needs -DVERSION, -DBUNDLE (the folder that build-bundle made), -DASSOCIATIONS (of associations.py),
; -DICON, -DLICENCE and -DOUTPUT. For all users where started as administrator, else for the user.

Unicode true
!include "MUI2.nsh"
!include "FileFunc.nsh"

Name "Opscope"
OutFile "${OUTPUT}"
SetCompressor /SOLID lzma
RequestExecutionLevel highest
ManifestDPIAware true
BrandingText "Opscope ${VERSION}"

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\Opscope"
!define CAPABILITIES "Software\Opscope\Capabilities"
!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\opscope-gui.exe"

!insertmacro MUI_PAGE_LICENSE "${LICENCE}"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

!macro TakeIfFree SUFFIX PROGID
  ReadRegStr $0 SHCTX "Software\Classes\${SUFFIX}" ""
  StrCmp $0 "" 0 +2
  WriteRegStr SHCTX "Software\Classes\${SUFFIX}" "" "${PROGID}"
!macroend

!macro GiveBack SUFFIX PROGID
  ReadRegStr $0 SHCTX "Software\Classes\${SUFFIX}" ""
  StrCmp $0 "${PROGID}" 0 +2
  DeleteRegValue SHCTX "Software\Classes\${SUFFIX}" ""
!macroend

!include "${ASSOCIATIONS}"

; Whom it is for: SHCTX is HKLM and the start menu of all, or HKCU and that of the user.
!macro ChooseContext
  UserInfo::GetAccountType
  Pop $0
  StrCmp $0 "Admin" 0 +3
  SetShellVarContext all
  Goto +2
  SetShellVarContext current
!macroend

Function .onInit
  !insertmacro ChooseContext
  StrCmp $INSTDIR "" 0 chosen ; /D=FOLDER on the command line
  StrCpy $INSTDIR "$LOCALAPPDATA\Programs\Opscope"
  StrCmp $0 "Admin" 0 chosen
  StrCpy $INSTDIR "$PROGRAMFILES64\Opscope"
chosen:
FunctionEnd

Function un.onInit
  !insertmacro ChooseContext
FunctionEnd

Section
  ; Files of an earlier version that this one has not would be loaded by Python all the same.
  RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${BUNDLE}/*.*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Opscope.lnk" "$INSTDIR\opscope-gui.exe"

  !insertmacro AssociateFiles
  WriteRegStr SHCTX "${CAPABILITIES}" "ApplicationName" "Opscope"
  WriteRegStr SHCTX "${CAPABILITIES}" "ApplicationDescription" "Trace viewer for on-device machine learning"
  WriteRegStr SHCTX "Software\RegisteredApplications" "Opscope" "${CAPABILITIES}"
  ; `opscope` in the Run dialog and for ShellExecute.
  WriteRegStr SHCTX "Software\Microsoft\Windows\CurrentVersion\App Paths\opscope.exe" "" "$INSTDIR\opscope.exe"

  WriteRegStr SHCTX "${UNINSTALL}" "DisplayName" "Opscope"
  WriteRegStr SHCTX "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr SHCTX "${UNINSTALL}" "DisplayIcon" "$INSTDIR\opscope-gui.exe"
  WriteRegStr SHCTX "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr SHCTX "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD SHCTX "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD SHCTX "${UNINSTALL}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD SHCTX "${UNINSTALL}" "EstimatedSize" $0
  ; SHCNE_ASSOCCHANGED: Explorer looks at icons and programs again.
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

Section "Uninstall"
  !insertmacro ForgetFiles
  DeleteRegKey SHCTX "Software\Opscope"
  DeleteRegValue SHCTX "Software\RegisteredApplications" "Opscope"
  DeleteRegKey SHCTX "Software\Microsoft\Windows\CurrentVersion\App Paths\opscope.exe"
  DeleteRegKey SHCTX "${UNINSTALL}"
  Delete "$SMPROGRAMS\Opscope.lnk"
  ; Only what was installed: the folder may hold files of the user.
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\opscope.exe"
  Delete "$INSTDIR\opscope-gui.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd
