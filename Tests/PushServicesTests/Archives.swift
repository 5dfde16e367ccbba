import Foundation

/// Archives and an encrypted key that other programs have written, for key `a` with its certificate, and the certificate of a key `b`.
///
/// Made by `openssl pkcs12 -export` (the last by Python's `cryptography`); the password is `secret`, the certificates end in 2126.
enum Archives {
    /// As OpenSSL 3 writes it (AES), with the other certificate behind its own.
    static let modern = Self.data(
        """
        MIIFnAIBAzCCBVIGCSqGSIb3DQEHAaCCBUMEggU/MIIFOzCCA/IGCSqGSIb3DQEHBqCCA+MwggPfAgEAMIID2AYJKoZIhvcNAQcBMFcGCSqG
        SIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj2KVe1/WEOQQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBMieP2CZg9je1Cj+qoq
        yDyAggNwthTTHtXsZphzfOuMyictv41avPAneaTTcG3kmcpfUOzy2mMFGcoFcX/O3AXZAsBd0kjroMKlhmW2tLLyFQUezot5YpiF9cSXqiRn
        R2Dfy57mLNZBAUK6ey50QaFeqTAVYaHFX0ByTV0k+Siuj7pftOAy9PtDa9TjqOlSuvm1CCWPfy5+ze0T8m49ui4ZlxnLxVGKykEvXoYcJQt/
        /luKCzi9YEiFqez1DprZN+KAAANLQRaPxF7lSQVkcHfuuHb5eGgE0quaUIco4I74fyj8N7HQ/M3iREfgjD0id5sJZ51mvHF6pwSeONasCRrl
        bcJozpaFUJ9rdNcXwqJ7oMDsaSvp0rfFFT2LpMkQv0U0g+UuKOhhvspMgjkMO6q4J6Bt0K0J3GRKQlHls2fO243HMtHfK+dRRlBjiRVfMQ/a
        nIylDYTIvLiSqbhxOnI/OJ6RkKg0xqdb7TF5n9bXgpHP8mg94kPtxED2dL8jfQPTAo6DeQ1gDPjLDFImuJBwhZC06yF9R+OFxyVZtE7Es9gb
        anDrAYKytflv0UaAeR4zsMTiD9d9RMJg0Y8htFebGQNfiAroTbr4mw7FwqzJ8qr+gdptSeyoi/rV/ZDehGfmbDEfxduU+N5QfLg1stKLxVuF
        FuG4bUz7mEsV+mCHQnOqHoSS5CvtybJyTQQdfvd2CpMEEpPD1KVL62WovZa/yzt9cV+2LqztKeIqG0DEGl02WQxy3ROydSdxl98KpmJeM09y
        czo2K9cuqXW+iCa/hQeYrQZgboHKnTo9WXKDGMXzJrEYTATwcpUXSBnc4cGW46eQ0SuzuG5ZtaKKWyYa3bYWdolcuWRrH42whS+XM7A+hMUJ
        vAkPwzbvSX4mS5Px/Cq1QrYN3UxgcSfrvu/qC3KEe/slqOGTa3h+Wt89YtjvMjlx1tfAn+IdfzBBa2GJZlyvpvo/KxRgZI+4pDNym6REwFTV
        0lBNnu/0VRB2EU71EQK0+W0yOGNIuhGr7jde/Hd138KlZe99fGq2Yfk5hD/GYU0HJ6DYyMaGufn9sSruLxMlmX/3UHo/nakyRJlcEpMtbAme
        f3ctnpsLuEOuJ5U3UTV82KSscnnwaDR6esJ4ygFsR01/9Gb19CTPL+J0p6jXze4Yk6geaMdvFWFClgBlJ1hW9k8sOeKWf++4RIsvVjCCAUEG
        CSqGSIb3DQEHAaCCATIEggEuMIIBKjCCASYGCyqGSIb3DQEMCgECoIHvMIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhlBTOL
        mHdd9AICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEB2wrm9eUDPW1upHfKOkM8kEgZCOKiC8IYnb1e7taEnin3Sup5KIonEI6L3m
        7t0l6xbhSZnz6+DZMc4wtSqUO5tvOipKT9HwIqGqpkJT5+KrGvCXni2+P86VMYWR9rV+LLRlMvyTtxD1WbOHfrL4QrlHm5bhJxRGAXVdtO2k
        r+WTXSf7Lc1j+nPqpMJumfIKPb74fIkqTRrWEhvciETYUsTTqUcxJTAjBgkqhkiG9w0BCRUxFgQUKivxedGkRZtB1EW516Ycmamu8VUwQTAx
        MA0GCWCGSAFlAwQCAQUABCA5g6AZel1REbk/zraWTyJrU7ZnrEwhWNrxBlrbkdJN0QQIMaFwPOTJ70MCAggA
        """
    )
    /// The same as Keychain Access writes it (RC2 and triple DES).
    static let legacy = Self.data(
        """
        MIIFEgIBAzCCBNgGCSqGSIb3DQEHAaCCBMkEggTFMIIEwTCCA7cGCSqGSIb3DQEHBqCCA6gwggOkAgEAMIIDnQYJKoZIhvcNAQcBMBwGCiqG
        SIb3DQEMAQYwDgQISgmTtQRg3QsCAggAgIIDcFqxuc6Wq2gLHhlLvffrDjRsDVk/WguPCfWiWLd+E+q4thHa+wbwCPIUDYsqEZsExdxt0+9g
        Bo6KDcW9IXFIXPn2LmpA8Edx2LSJEUjNLy6BgkV4lt9qnR6LmX8N9VrdOy5x0zUEcE1ZaSpoY+hUwlffWgkaWRtpaTBZe+gZdxtKy8NsLhZW
        AawZom2x4ZjdiCzpILUcRDqepPJW3gGNgrI/OVmepL0pg8S9gmuqPOSwdbu3WOXYhB7eEXg0G7BjTqCWiMCOgZWtMAIAcGsmQfNEipUcZO3M
        GkOI4Dsv4bLdi9opCoq3rWhQyXTMj+NFBxanMD/0gAmtSgqy729NV32c7HLcXnhy7WY1YDAy4RHsYZJi9i8SbuREmP9S0JCgqt4BNN7GvSyJ
        8V1KUoWbE2zhGKxVjLwgyYtzb5SUHn/gkIU+Q3QOeVE0d70uNl07XrwNguJp2/DTOSjMm9TxtT/rOD3zRZZtWAGrilif4YIhlz5ScSQWX5QS
        bvxDXN5eO254QBSq1w7ts0abPYbJ8PSGKIZsc3BVSiR08qjGxawiSwwLHvEUt0FjMHdLuCdDktGSrjvvZkGumIMEcyKg3u4MdUbD40qxXWI4
        l14gTiZo+sJOhLtVfRzl0LdDuHjKDy7G7+m3qq8TfJiWVs7Zgc2URy/SuzircHADWESgjgu8JMmi+Dmyd6xVlNSkvM9cz02OR79C3bnVO26D
        ZnDyY/2AcKC2rLerQ0jk1Jvefw+B1wJHKoTyp8A2EVLBaU2XFfq7ptjzJ+OC62Cd106WAVFc6v91iyAxsxDB3v1fheYElkbDgd2OxaP/xrzW
        DVd8Pld3NAYiCs9LocSLAtCsHEC9JQLjFPjCMx4ODea9qv0zqXbg4y76IkISOLtTwzQUlovR0kld4/S2B+2U/DI+E7ZSGA55lo+UxvBKbijR
        6FR16el26et7lG14sTRID/g5pcA04QUCbh9vVaqHSbB+SAikQs6ffSObyuwAeVdhxzzWq7Wj18uR/ARm187YokQ9EmrZluILkdgPa9d/X/mY
        O+g2NJSg2Sk+oz7RcJWJTgmn+YCB6riF62jfJqKqkUOdkIYiH7INCg9cKJvQWXEaPWFubZGyIME68VDIizKs1Cgv2scpkkaekxW6sR1XuSmO
        wOrMlHcOhyzAhT5Ob5dzQ8kwggECBgkqhkiG9w0BBwGggfQEgfEwge4wgesGCyqGSIb3DQEMCgECoIG0MIGxMBwGCiqGSIb3DQEMAQMwDgQI
        pT75Q6GA2MECAggABIGQ1LvADGNyoPYl5Ts2DovFSeEvXJ0omQMn6Au+PqIRItmR8lytWhXIfo+tWP5+qwg6amdv9l4tZ31alb08J3IxM/dR
        e8obgb7gT2AfroVrzFCyeyPEbd79Cgge3/s/dcepXtNnayHGgqwWGr8Dbl/4eLxvmcwcvSfZ/xBcXy+ZsXV8EMD9TtCCsHk+V9Y9fwLAMSUw
        IwYJKoZIhvcNAQkVMRYEFCor8XnRpEWbQdRFudemHJmprvFVMDEwITAJBgUrDgMCGgUABBSvpxd9szGy4DoBNjYGs8NK/ZL15AQINX/nLvuX
        7MMCAggA
        """
    )
    /// Certificate and key are not encrypted; the MAC has the password.
    static let unencrypted = Self.data(
        """
        MIIDHwIBAzCCAtUGCSqGSIb3DQEHAaCCAsYEggLCMIICvjCCAd8GCSqGSIb3DQEHAaCCAdAEggHMMIIByDCCAcQGCyqGSIb3DQEMCgEDoIIB
        jDCCAYgGCiqGSIb3DQEJFgGgggF4BIIBdDCCAXAwggEVoAMCAQICFHmuVsmGhnxZ+hCQJUvGV4N/CcR7MAoGCCqGSM49BAMCMAwxCjAIBgNV
        BAMMAWEwIBcNMjYxMTIzMTQyNzU2WhgPMjEyNjEwMzAxNDI3NTZaMAwxCjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARA
        551sFd+81Ov1IX4lxG7TK1bPon1EvAffJ72B2EJ4eUUpTJtBYc1Znd1Sq3U7NeYiI8FjTNThG/Y1P8RYeD/Vo1MwUTAdBgNVHQ4EFgQU7bbK
        Ya/qOI2vqW+X1Ou7kHGCTmEwHwYDVR0jBBgwFoAU7bbKYa/qOI2vqW+X1Ou7kHGCTmEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJ
        ADBGAiEA8aphKlh/lIPzDJ3Vwfe/uiwADLVjr8Ojtez1n0qff+ACIQDshyBlq2oBL1fOxjckIpYBrBkinc5roXLiOZF74Fed/jElMCMGCSqG
        SIb3DQEJFTEWBBQqK/F50aRFm0HURbnXphyZqa7xVTCB2AYJKoZIhvcNAQcBoIHKBIHHMIHEMIHBBgsqhkiG9w0BDAoBAaCBijCBhwIBADAT
        BgcqhkjOPQIBBggqhkjOPQMBBwRtMGsCAQEEIF6CPlKIWl/eI2Fhul3SauGPtTG2o/kww5ig8aClLpzPoUQDQgAEQOedbBXfvNTr9SF+JcRu
        0ytWz6J9RLwH3ye9gdhCeHlFKUybQWHNWZ3dUqt1OzXmIiPBY0zU4Rv2NT/EWHg/1TElMCMGCSqGSIb3DQEJFTEWBBQqK/F50aRFm0HURbnX
        phyZqa7xVTBBMDEwDQYJYIZIAWUDBAIBBQAEIDL/KjEvdpqP3TZad58NpEqAFOhO7wtFZ90qBfTZlfkUBAhDl3XNcfUWCgICCAA=
        """
    )
    /// The password is empty.
    static let withoutPassword = Self.data(
        """
        MIID/AIBAzCCA7IGCSqGSIb3DQEHAaCCA6MEggOfMIIDmzCCAlIGCSqGSIb3DQEHBqCCAkMwggI/AgEAMIICOAYJKoZIhvcNAQcBMFcGCSqG
        SIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjJxYY+OYUqyAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEPxI8V5QU6yz+UiCYH2+
        eFqAggHQxJQmgzG1TaAd9XLO/iXd2TjcWoUYmazUg8eGqz00K3gGl/okzvUIvGt0cPk26oO8hyx04UNXPtppCNVPlzRJD26S/Qamc9owBGSZ
        qR5IcDU2ivii40ZEpX+8qjwNETm7ADRAJNZVt9/qOZjd3Bmnhb7YtIVsVwXFYrMQjjLKCv7zX9GuXqVlq8Us8pCffUPUSYA8/qBC42eICVMJ
        XZtugLSdHoQ9EwG6B2NF42SrGE+GUSYz0AwkbEcx3U83km8tOmxYbOb3twSule3KMRpjqAte5l7nshvMKvu4d8WqDw7+WJ1nx1AbNePDl6qD
        vGn5sK+Ke5VS6o7FdlhP9SoY06Az/ZQO5p/1x8tZUlwS/TU6uHiFAMx31Y2bFV+VJnuqaTJwgNRAG1KqUzhAeUF49ya0xvL6trNM/5CSC2g2
        6xfY7ZYLnUagF1OQCpaT+8s5Ofn7AJpdyaQXrMnmWH1QcEoKSge/XvamMwG9500T6XxtlUAa0k1RAcJnL02jSNAZJTSyJFZB7KUEp0OZEanc
        94UG+PaRF85J+g+YfNEBr/X8/OjDDXPIKOtFFFII1xr8EYMviCX3aMc1Kdo7Fu09CTBmuvzQt57hE/4VmgoRM5YwggFBBgkqhkiG9w0BBwGg
        ggEyBIIBLjCCASowggEmBgsqhkiG9w0BDAoBAqCB7zCB7DBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI6G9UWSyU8XECAggAMAwG
        CCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBA6A0cEpZYqENiCSwAprubWBIGQBtxxNkGfvdEPp89GhM0Kg04Nx05SibdzbezisdvTa+9WZh75
        OAtYZE+W072y9ZFGgayyKuiPEudHD6q9VyJEXSgKWP2zRtv/iBEA+Cz5cpt/Au7WtJisJ3cEhG9OZn28doFjtCL1tlDBUIKzXSJXSJYUnhl2
        UQ1Z71/uud7734zsU/j2vaUUX9ThCtjGeG+4MSUwIwYJKoZIhvcNAQkVMRYEFCor8XnRpEWbQdRFudemHJmprvFVMEEwMTANBglghkgBZQME
        AgEFAAQgH4shJ1q+/FwGiAB/7VwmoEVuDewI7Wn9mP2tbYE3MeQECFYue2G59ROhAgIIAA==
        """
    )
    /// What Keychain Access exports where only the key was selected.
    static let keyAlone = Self.data(
        """
        MIIBfgIBAzCCATQGCSqGSIb3DQEHAaCCASUEggEhMIIBHTCCARkGCSqGSIb3DQEHAaCCAQoEggEGMIIBAjCB/wYLKoZIhvcNAQwKAQKgge8w
        gewwVwYJKoZIhvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECIUjFNhX666eAgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQeASA2hLC
        qbf76PLzYgZIIwSBkCbe5pJG5s9JCq5ekEoVkvZ3LV5W8PiVaR+fy1ghZJ/YsVjInktpjN46QZU/hS7GVCl7ZBla3fFDS4MVE/TuieGE6dSI
        FcoH4Bk8AJDcRpSvSvx5y+295V5hT6nYD8ZKSOAjhL33vDyo7GUiQy5n1nVI+MO0KAyp9rRVCBm59AsUjWh+xRSYi7tengh5WgZMWzBBMDEw
        DQYJYIZIAWUDBAIBBQAEIMBnZEHQTXtVwLdPn2HJoAS4M4mN9h6+fe9rl413pICJBAjwSkalRkO4FQICCAA=
        """
    )
    /// Where only the certificate was selected.
    static let certificateAlone = Self.data(
        """
        MIIClwIBAzCCAk0GCSqGSIb3DQEHAaCCAj4EggI6MIICNjCCAjIGCSqGSIb3DQEHBqCCAiMwggIfAgEAMIICGAYJKoZIhvcNAQcBMFcGCSqG
        SIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjtuYWezcFc0AICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEKle+WSvEKsFRtDpRep1
        rkCAggGw89aR1QC1HEjqmTwV7PYJrmlwlnh045ycKeQuBXTsbODtBRS4dCmCOHrU6RhI79zCCCrsnYjfFVO6y8LE7mo/0jwSaXtK5jR3qOPk
        PKlJI+/Wzx4FClpLEmIu1SKmREGg6IP+0gdS00SbnUaL59WIgqr9HIzHMn78UQW/AjbwEus5DYyekiIzdTcS/axSmAubZ2dhm2aowedOgQoy
        OU2KkvrvkWG6vWe7NDhF1Aw69emkjfbCAU4UddWfxHZjkgeRSZWPnG/tnSdJP7ImlLyPIB/blhhg/r2GAy9EIUakizkY1B0QkvnJ/rZJ6O4l
        /Ul5b9r+oM3vP6ynQFA/tIb3YzVC1/uhhw5x92+9mfcNf+Oda1Zl15keaq+GDCSlC0Uez6KBKDEs/exaODIdsVx8RyYCrgHmHcxuRyWvHkqH
        Q9+RGR9bgRc3d03qZo7Q7CLsWwsp4hwTHQA9Cp5cf7opxu0M9g+uHa1dosuRENMl7Gv4ytQPWBCJaJizgtw0s8mc2inPD6jxrnu+BXouW6gv
        wpoMMnA5voauKP41IvMOFKhcp/j4hOd0lX4pKFf3NKqlMEEwMTANBglghkgBZQMEAgEFAAQgc7aM5GRY6kxyl4/eyHcsvfT8lIaxwuEjslEW
        CCgbOuQECCN71fPYcltCAgIIAA==
        """
    )
    /// The key, and the other certificate.
    static let strangersCertificate = Self.data(
        """
        MIID2gIBAzCCA5AGCSqGSIb3DQEHAaCCA4EEggN9MIIDeTCCAjoGCSqGSIb3DQEHBqCCAiswggInAgEAMIICIAYJKoZIhvcNAQcBMF8GCSqG
        SIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBCLTuUIwJxfB3tw9GDI8QiVAgJOIDAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQmFPju1hy
        OaEegoocUB8kNYCCAbDISbADXDT835nCwvNKPwCyyYCtPxc8ldWvLMiBJZb2kf8QaODQpzL8ifxYry6O3HMVn/J9JwJvsW0qPkyEWMBuzPOp
        LoLe65IkuwJZGeMxpciCHh8eQR7VML+QEGa8X1j8R6ooDTNoqQ7sH/JQikPrVtTZKQr1sKUmz0E2g7yC/k7RGL8rDH4tTSX6+ydWRFnTqXLb
        L9orxZf+5BsbhFq6LN3i0eBb8SwuhfVG7N9kzpd8ayVWuBBgx+uRKeDPiRBZhWWR7XzZPplMmG1Uh4a/+uSwV6/zofgUjWJjRYqnjW8oH6xK
        k6ulLphZmwfN6B6+1mn+0nSwIjvKXXvy2a4Jnuxsq9qkwgeM3+eDlYUCt3O1jH1cI+tejn5OQ5/jeFL261gN2hf+U6Qk34F3Xbcaj3kfpCD3
        A3VV/1fFWUQqCWpHmp1Fe+BL31mKCzta0Gf8QyBzq3qS66MP20CakuU7BFvK1lzHCX1OJ2jKp/StygYpfcwWMppImXwnS6i4o0iGseDlw+ip
        Tc9EKnnOChvMy6p7MDDDiggIlRIkS7fD7QNcbqcyMQopC9wuG3WOZmQwggE3BgkqhkiG9w0BBwGgggEoBIIBJDCCASAwggEcBgsqhkiG9w0B
        DAoBAqCB9zCB9DBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQyXOVXC4wzIlH737fQ2xQQAICTiAwDAYIKoZIhvcNAgkFADAdBglg
        hkgBZQMEASoEEGZ8O14dwaDb+WB+ytmfDooEgZCOjJAjNDEW+TpquSjBw7vpOpfuUa0OoxgftFTJmDV7FCRkN9QvFR3JK/hnNQWCXzAFrjLR
        1E3Dhv+bgS7gFYORhfk+R4E4emgmegPDIxKhk9sVfp6j41YpDKRJXxANZ0jIe63H++R5aV160FNHOWfscKuUUR+lWQ/Zdt+9lbrMjFvAslpz
        OWqM2aJKr8+/Hd0xEzARBgkqhkiG9w0BCRQxBB4CAHgwQTAxMA0GCWCGSAFlAwQCAQUABCCAczULv4lK4dg9fJDQNXKFBXv8SOY+XNIR1KW/
        09jCAwQIuwyk4JocLzkCAggA
        """
    )
    /// `openssl pkcs8 -topk8 -v2 aes-256-cbc` of the key.
    static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAituI/8cYSD4AICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEIjd2w2vbBkH5nLGE1CxPWwEgZBw
        LlBDtdUuorvKSN7KDHNYyeZcvAgkAHH8o/YxgYen7E9sKTR9AtKG5iTvfPotA57X
        tb8ybhxI0pxrINGuCSnct2fo4Ow17tLgir21JnW0Es2JVIErZ1BL7Ykwmohmw8tf
        cXIB6AEHyofjWYsbcyYRZ0+bOOIxdMpDA/6JjoghCk5KF67NX2kv1TOW35hgGBQ=
        -----END ENCRYPTED PRIVATE KEY-----

        """
    /// Its certificate.
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBcDCCARWgAwIBAgIUea5WyYaGfFn6EJAlS8ZXg38JxHswCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYTAgFw0yNjExMjMxNDI3NTZaGA8yMTI2MTAzMDE0Mjc1Nlow
        DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEDnnWwV37zU
        6/UhfiXEbtMrVs+ifUS8B98nvYHYQnh5RSlMm0FhzVmd3VKrdTs15iIjwWNM1OEb
        9jU/xFh4P9WjUzBRMB0GA1UdDgQWBBTttsphr+o4ja+pb5fU67uQcYJOYTAfBgNV
        HSMEGDAWgBTttsphr+o4ja+pb5fU67uQcYJOYTAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0kAMEYCIQDxqmEqWH+Ug/MMndXB97+6LAAMtWOvw6O17PWfSp9/
        4AIhAOyHIGWragEvV87GNyQilgGsGSKdzmuhcuI5kXvgV53+
        -----END CERTIFICATE-----

        """
    /// The other certificate.
    static let otherCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIBcDCCARWgAwIBAgIUSgPXCcZWk0co1vY9/DhjVq+aviIwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYjAgFw0yNjExMjMxNDI3NTZaGA8yMTI2MTAzMDE0Mjc1Nlow
        DDEKMAgGA1UEAwwBYjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIBioxrkPrX/
        +7/x2ODhEOEgrgIK0MpBQIrDZMfIJVphC1it00KjmXtqIc7DCMNKUFY3zyYNNJU3
        KRGCkTOxtPyjUzBRMB0GA1UdDgQWBBSWRDpm7HG7Yk89MplWh8eyiMqeDTAfBgNV
        HSMEGDAWgBSWRDpm7HG7Yk89MplWh8eyiMqeDTAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0kAMEYCIQD9HFeEMKs/K3x6hv935huy7aHSJ4mRXEJNPzvpXFl6
        cwIhAMK9WjTutLXAfq9wPTaT6MJPi5MstFhHgCldoV5pX82o
        -----END CERTIFICATE-----

        """

    private static func data(_ text: String) -> Data {
        Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data()
    }
}
